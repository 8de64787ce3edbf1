package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// BenchmarkObject reads objects of realistic size. It adds to the objects of the tests what kubeflap skips.
func BenchmarkObject(b *testing.B) {
	first := map[event.Kind]typed{}
	for _, x := range testObjects(b) {
		if first[x.kind] == nil {
			first[x.kind] = x.object
		}
	}
	pod := first[event.KindPod].(*corev1.Pod)
	for i := range 40 {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_NUMBER_%d", i), Value: "the value of this setting"})
	}
	slice := first[event.KindEndpointSlice].(*discoveryv1.EndpointSlice)
	slice.Endpoints = slices.Repeat(slice.Endpoints[:1], 100)
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: pod.Spec}}}
	many := pod.DeepCopy()
	for i := range 2000 {
		name := fmt.Sprint("container-", i)
		many.Spec.Containers = append(many.Spec.Containers, corev1.Container{Name: name})
		many.Status.ContainerStatuses = append(many.Status.ContainerStatuses, corev1.ContainerStatus{Name: name})
	}
	for name, object := range map[string]struct {
		event.Kind
		typed
	}{
		"pods":                    {event.KindPod, pod},
		"pods of many containers": {event.KindPod, many},
		"endpointslices":          {event.KindEndpointSlice, slice},
		"deployments":             {event.KindDeployment, deployment},
	} {
		fields := `{"f:metadata":{"f:labels":{"` + strings.Repeat("x", 1200) + `":{}}}}`
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(fields)}})
		data, err := object.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var r Reader
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Object(object.Kind, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
