package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimService(service *corev1.Service) *event.Service {
	return &event.Service{
		Meta:            slimMeta(&service.ObjectMeta),
		Type:            string(service.Spec.Type),
		Selector:        service.Spec.Selector,
		Headless:        service.Spec.ClusterIP == corev1.ClusterIPNone,
		PublishNotReady: service.Spec.PublishNotReadyAddresses,
	}
}
