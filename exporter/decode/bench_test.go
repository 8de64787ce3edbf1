package decode

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const uid = "5a2c0c0e-7d39-4d1c-9fb4-6b6cb0a1d4a1"

// BenchmarkObject reads objects of realistic size.
func BenchmarkObject(b *testing.B) {
	for kind, object := range map[event.Kind]typed{
		event.KindPod: realPod(), event.KindEndpointSlice: realSlice(100), event.KindDeployment: realDeployment(),
	} {
		data, err := object.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(kind.String(), func(b *testing.B) {
			var r Reader
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Object(kind, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// entry returns managed fields of the given length.
func entry(manager string, length int) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"` + strings.Repeat("x", length) + `":{}}}}`)}
}

func realPod() *corev1.Pod {
	yes, began := true, metav1.NewTime(time.Unix(1782907203, 0))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-7d9c5b6f4-x2x9k", GenerateName: "web-7d9c5b6f4-", UID: uid, ResourceVersion: "123456",
			Labels:          map[string]string{"app": "web", "pod-template-hash": "7d9c5b6f4", "app.kubernetes.io/instance": "web", "team": "shop"},
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "checksum/config": "3c1c9d5f8e5f0ac54e1c7b1fd3f3e1f0b8b7ad9c"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c5b6f4", UID: uid, Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{entry("kube-controller-manager", 400), entry("kube-scheduler", 150), entry("kubelet", 700)},
		},
		Spec: corev1.PodSpec{NodeName: "node-417", ServiceAccountName: "web", RestartPolicy: "Always", SchedulerName: "default-scheduler", Tolerations: []corev1.Toleration{
			{Key: taintNotReady, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
			{Key: taintUnreachable, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
		}},
		Status: corev1.PodStatus{
			Phase: "Running", HostIP: "192.0.2.17", PodIP: "10.4.17.9", PodIPs: []corev1.PodIP{{IP: "10.4.17.9"}}, QOSClass: "Burstable",
		},
	}
	for _, name := range []string{"web", "proxy"} {
		c := corev1.Container{Name: name, Image: "registry.example.com/shop/" + name + ":v1.2.3", ImagePullPolicy: "IfNotPresent"}
		for i := range 20 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_NUMBER_%d", i), Value: "the value of this setting"})
		}
		for _, mount := range []string{"config", "data", "kube-api-access-x2x9k"} {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: mount, MountPath: "/var/run/" + mount})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Image: c.Image, ImageID: c.Image + "@sha256:0a1b2c", ContainerID: "containerd://0f5b0e6c1a2b3c4d5e6f708192a3b4c5", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
		})
	}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: "True", LastTransitionTime: began})
	}
	return p
}

func realDeployment() *appsv1.Deployment {
	pod := realPod()
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: uid, ResourceVersion: "123456", Generation: 12, ManagedFields: pod.ManagedFields},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 12, Replicas: 3, Conditions: []appsv1.DeploymentCondition{
			{Type: "Available", Status: "True", Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."},
			{Type: "Progressing", Status: "True", Reason: "NewReplicaSetAvailable", Message: `ReplicaSet "web-7d9c5b6f4" has successfully progressed.`},
		}},
	}
}

func realSlice(addresses int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-abcde", UID: uid, ResourceVersion: "123456", CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
		Labels:          map[string]string{labelService: "web", labelSliceManagedBy: "endpointslice-controller.k8s.io", "app": "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: uid}},
		ManagedFields:   []metav1.ManagedFieldsEntry{entry("kube-controller-manager", 100)},
	}}
	yes, no := true, false
	for i := range addresses {
		node, zone := fmt.Sprintf("node-%d", i), "zone-a"
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.4.0.%d", i)}, NodeName: &node, Zone: &zone,
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: fmt.Sprintf("web-7d9c5b6f4-%05d", i), UID: types.UID(fmt.Sprintf("5a2c0c0e-7d39-4d1c-9fb4-%012d", i))},
		})
	}
	return s
}
