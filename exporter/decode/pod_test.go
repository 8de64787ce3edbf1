package decode

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestPod(t *testing.T) {
	yes, deletion := true, apiTime(30)
	for _, c := range []struct {
		name string
		pod  corev1.Pod
		want event.Pod
	}{
		{"a pod that is empty", corev1.Pod{}, event.Pod{}},
		{"a pod that the node controller marked", corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				UID: uid, Namespace: "shop", Name: "web-1", DeletionTimestamp: &deletion,
				OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "x"}, {Kind: "ReplicaSet", Name: "web", Controller: &yes}},
				ManagedFields:   []metav1.ManagedFieldsEntry{entry("kubelet", "status", kubeletRobbed), entry("kube-controller-manager", "status", nodeLifecycle)},
			},
			Spec: corev1.PodSpec{NodeName: "a"},
			Status: corev1.PodStatus{
				Phase: "Running", Reason: "NodeLost",
				Conditions: []corev1.PodCondition{
					{Type: "Ready", Status: "False", LastTransitionTime: apiTime(5)},
					{Type: "ContainersReady", Status: "True"},
					{Type: "DisruptionTarget", Status: "True", Reason: "DeletionByTaintManager"},
				},
			},
		}, event.Pod{
			Meta: event.Meta{UID: event.ParseUID(uid), Namespace: "shop", Name: "web-1"}, Owner: "ReplicaSet/web",
			Node: "a", Phase: "Running", Reason: "NodeLost",
			Deletion:        noon.Add(30 * time.Second),
			Ready:           &event.Condition{Status: event.StatusFalse, Transition: noon.Add(5 * time.Second), Writer: "kube-controller-manager"},
			ContainersReady: event.StatusTrue, Disruption: "DeletionByTaintManager",
		}},
		{"a disruption that was called off", corev1.Pod{Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: "DisruptionTarget", Status: "False", Reason: "x"}},
		}}, event.Pod{}},
		{"of three gates one is true, one false, one not there yet", corev1.Pod{
			Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}, {ConditionType: "c"}}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: "b", Status: "False"}, {Type: "a", Status: "True"},
			}},
		}, event.Pod{Gates: 3, GatesNotReady: []string{"b", "c"}}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindPod, &c.pod), &c.want) })
	}
}

func TestContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "web", Image: "web:2"}, {Name: "new", Image: "new:1"}, {Name: "odd"}, {Name: "crash"}},
			InitContainers: []corev1.Container{{Name: "setup"}, {Name: "mesh", Image: "mesh:1", RestartPolicy: &always}},
		},
		Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "odd"},
				{
					Name: "web", Image: "web:1", ContainerID: "containerd://1", Ready: true, RestartCount: 2,
					State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: apiTime(3)}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
				},
				{Name: "crash", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
			},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "setup", Ready: true},
				{Name: "mesh", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, StartedAt: apiTime(1)}}},
			},
		},
	}
	wantSlim(t, read(t, event.KindPod, pod), &event.Pod{Containers: []event.Container{
		{Name: "web", Image: "web:2", ID: "containerd://1", Ready: true, Restarts: 2, State: "running", Started: noon.Add(3 * time.Second), LastExitCode: 137},
		{Name: "new", Image: "new:1"},
		{Name: "odd", State: "waiting"},
		{Name: "crash", State: "waiting"},
		{Name: "mesh", Image: "mesh:1", State: "terminated", ExitCode: 1, Started: noon.Add(time.Second)},
	}})
}

func TestControllerManager(t *testing.T) {
	for _, c := range []struct {
		name          string
		image         string
		command, args []string
		want          event.ControllerManager
	}{
		{"no flag", "registry.k8s.io/kube-controller-manager:v1.36.3", []string{"kube-controller-manager", "--v=2"}, nil, event.ControllerManager{Version: "v1.36.3"}},
		{"the flag with its value", "kcm", []string{"kcm", "--node-monitor-grace-period=20s"}, nil, event.ControllerManager{GracePeriod: 20 * time.Second}},
		{"the flag before its value", "kcm", nil, []string{"--node-monitor-grace-period", "1m40s", "--v=2"}, event.ControllerManager{GracePeriod: 100 * time.Second}},
		{"the last one wins", "kcm", []string{"--node-monitor-grace-period=20s"}, []string{"--node-monitor-grace-period=30s"}, event.ControllerManager{GracePeriod: 30 * time.Second}},
		{"in a shell's command line", "kcm", []string{"sh", "-c", `exec kcm --node-monitor-grace-period="20s" 2>&1`}, nil, event.ControllerManager{GracePeriod: 20 * time.Second}},
		{"another flag that starts alike", "kcm", []string{"--node-monitor-grace-period-x=20s"}, nil, event.ControllerManager{}},
		{"the flag without a value", "kcm", []string{"--node-monitor-grace-period"}, nil, event.ControllerManager{}},
		{"a value that is none", "kcm", []string{"--node-monitor-grace-period=soon"}, nil, event.ControllerManager{}},
		{"a registry with a port, no tag", "localhost:5000/kcm", nil, nil, event.ControllerManager{}},
		{"a registry with a port, a tag and a digest", "localhost:5000/kcm:v1.31.0@sha256:abcd", nil, nil, event.ControllerManager{Version: "v1.31.0"}},
		{"a digest alone", "kcm@sha256:abcd", nil, nil, event.ControllerManager{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": "kube-controller-manager"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: c.image, Command: c.command, Args: c.args}}},
			}
			if got := read(t, event.KindPod, pod).(*event.Pod).ControllerManager; got == nil || *got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
