package kube

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	controllerManagerName = "kube-controller-manager"
	gracePeriodFlag       = "--node-monitor-grace-period"
)

// controllerManager reads the settings of a kube-controller-manager out of its pod,
// which has this label where kubeadm or one of its likes made it (cmd/kubeadm,
// ComponentPod). It is nil for all other pods.
func controllerManager(pod *corev1.Pod) *event.ControllerManager {
	if pod.Labels["component"] != controllerManagerName {
		return nil
	}
	slim := &event.ControllerManager{}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if slim.Version == "" || container.Name == controllerManagerName {
			slim.Version = imageTag(container.Image)
		}
		if period := gracePeriod(container); period > 0 {
			slim.GracePeriod = period
		}
	}
	return slim
}

// gracePeriod is the flag's last value that is one, as pflag has it; 0 if there is none.
func gracePeriod(container *corev1.Container) time.Duration {
	var words []string
	for _, arguments := range [][]string{container.Command, container.Args} {
		for _, argument := range arguments {
			// An argument may be a shell's whole command line.
			words = append(words, strings.Fields(argument)...)
		}
	}
	var period time.Duration
	for i, word := range words {
		value, isFlag := strings.CutPrefix(word, gracePeriodFlag)
		switch {
		case !isFlag:
			continue
		case strings.HasPrefix(value, "="):
			value = value[1:]
		case value == "" && i+1 < len(words):
			value = words[i+1]
		}
		if d, err := time.ParseDuration(strings.Trim(value, `"'`)); err == nil && d > 0 {
			period = d
		}
	}
	return period
}

// imageTag is the tag of an image: "v1.36.3" of "registry:5000/name:v1.36.3@sha256:...".
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
