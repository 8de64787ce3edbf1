package truth

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (s *state) applyPod(object *corev1.Pod, gone bool, seen time.Time) {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	old := s.pods[key]
	if gone {
		if old != nil {
			s.note(Fact{Seen: seen, Kind: FactPod, Object: key.String(), From: readiness(podReady(old)), To: absentState})
		}
		delete(s.pods, key)
		s.forgetEmptyNamespace(object.Namespace)
		return
	}
	s.pods[key] = object
	if old == nil || old.UID != object.UID {
		s.note(Fact{Seen: seen, Kind: FactPod, Object: key.String(), From: absentState, To: readiness(podReady(object))})
		return
	}
	if was, is := podReady(old), podReady(object); was != is {
		s.note(Fact{Seen: seen, Kind: FactPod, Object: key.String(), From: readiness(was), To: readiness(is)})
	}
	if old.Status.Phase == corev1.PodRunning && imagesChanged(old, object) {
		s.note(Fact{Seen: seen, Kind: FactImage, Object: key.String()})
	}
	if podReady(old) && podReady(object) {
		if n := restarts(old, object); n > 0 {
			s.note(Fact{Seen: seen, Kind: FactRestart, Object: key.String(), To: strconv.Itoa(n)})
		}
	}
}

// forgetEmptyNamespace removes the counts of a namespace that has no more pods.
func (s *state) forgetEmptyNamespace(namespace string) {
	for key := range s.pods {
		if key.Namespace == namespace {
			return
		}
	}
	delete(s.counted, Series(imageChanges, "namespace", namespace))
	delete(s.counted, Series(silentRestarts, "namespace", namespace))
}

func imagesChanged(before, after *corev1.Pod) bool {
	images := map[string]string{}
	for _, container := range before.Spec.Containers {
		images[container.Name] = container.Image
	}
	for _, container := range after.Spec.Containers {
		if images[container.Name] != container.Image {
			return true
		}
	}
	return false
}

// restarts returns the number of containers that restarted between two versions of a pod.
func restarts(before, after *corev1.Pod) int {
	counts := map[string]int32{}
	for _, status := range before.Status.ContainerStatuses {
		counts[status.Name] = status.RestartCount
	}
	n := 0
	for _, status := range after.Status.ContainerStatuses {
		if was, ok := counts[status.Name]; ok && status.RestartCount > was {
			n++
		}
	}
	return n
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
