package decode

import (
	"maps"
	"reflect"
	"strings"
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
			DeletionTimestamp: noon.Add(30 * time.Second),
			Ready:             &event.Condition{Status: event.StatusFalse, LastTransitionTime: noon.Add(5 * time.Second), Writer: "kube-controller-manager"},
			ContainersReady:   event.StatusTrue, Disruption: "DeletionByTaintManager",
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
		{"other flags", "kcm", []string{
			"kcm", "--node-monitor-period=2s", "--kube-api-qps=0", "--kube-api-burst", "0x64", "--concurrent-endpoint-syncs=3",
			"--concurrent-service-endpoint-syncs=4", "--endpoint-updates-batch-period=500ms", "--endpointslice-updates-batch-period=0s",
			"--node-eviction-rate=0", "--secondary-node-eviction-rate=.01", "--unhealthy-zone-threshold=0.55",
		}, nil, event.ControllerManager{Flags: &event.ControllerManagerFlags{
			MonitorPeriod: new(2 * time.Second), QPS: new(0.0), Burst: new(int32(100)), EndpointSyncs: new(int32(3)), EndpointSliceSyncs: new(int32(4)),
			EndpointBatch: new(500 * time.Millisecond), EndpointSliceBatch: new(time.Duration(0)), EvictionRate: new(0.0),
			SecondaryEvictionRate: new(0.01), UnhealthyZoneThreshold: new(0.55),
		}}},
		{"numbers that are none", "kcm", []string{"--kube-api-qps=NaN", "--node-eviction-rate=+Inf", "--kube-api-burst=3000000000"}, nil, event.ControllerManager{}},
		{"a registry with a port, no tag", "localhost:5000/kcm", nil, nil, event.ControllerManager{}},
		{"a registry with a port, a tag and a digest", "localhost:5000/kcm:v1.31.0@sha256:abcd", nil, nil, event.ControllerManager{Version: "v1.31.0"}},
		{"a digest alone", "kcm@sha256:abcd", nil, nil, event.ControllerManager{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": "kube-controller-manager"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: c.image, Command: c.command, Args: c.args}}},
			}
			got := read(t, event.KindPod, pod).(*event.Pod).ControllerManager
			if c.want.Flags == nil {
				c.want.Flags = &event.ControllerManagerFlags{}
			}
			if !reflect.DeepEqual(got, &c.want) {
				t.Errorf("got %+v with %+v, want %+v with %+v", got, got.Flags, c.want, c.want.Flags)
			}
		})
	}
}

// TestFlagAtTheEndOfACommand checks that a flag without a value at the end of a command does not take its value from
// the next container.
func TestFlagAtTheEndOfACommand(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": "kube-controller-manager"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--node-monitor-grace-period"}}, {Command: []string{"20s"}}}},
	}
	if got := read(t, event.KindPod, pod).(*event.Pod).ControllerManager; got.GracePeriod != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestTolerations(t *testing.T) {
	seconds := func(s int64) *event.Toleration { return &event.Toleration{Seconds: s} }
	forever := &event.Toleration{Forever: true}
	for _, c := range []struct {
		name                  string
		tolerations           []corev1.Toleration
		notReady, unreachable *event.Toleration
	}{
		{"none: it is evicted at once", nil, seconds(0), seconds(0)},
		{"what the API server adds", []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
		}, seconds(300), seconds(300)},
		{"a pod of a DaemonSet stays", []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"}, {Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"},
		}, forever, forever},
		{"one that tolerates everything", []corev1.Toleration{{Operator: "Exists"}}, forever, forever},
		{"the first one that matches counts", []corev1.Toleration{
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", TolerationSeconds: new(int64(10))}, {Operator: "Exists", TolerationSeconds: new(int64(60))},
		}, seconds(60), seconds(10)},
		{"a negative time is none", []corev1.Toleration{{Operator: "Exists", TolerationSeconds: new(int64(-5))}}, seconds(0), seconds(0)},
		{"another effect, value or operator does not match", []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoSchedule"},
			{Key: "node.kubernetes.io/not-ready", Value: "x"},
			{Key: "node.kubernetes.io/not-ready", Operator: "Gt", Value: "5"},
			{Key: "node.kubernetes.io/unreachable", TolerationSeconds: new(int64(7))},
		}, seconds(0), seconds(7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: c.tolerations}}
			wantSlim(t, read(t, event.KindPod, pod), &event.Pod{ToleratesNotReady: c.notReady, ToleratesUnreachable: c.unreachable})
		})
	}
}

func TestLabelsAreSharedIfEqual(t *testing.T) {
	r := &Reader{}
	read := func(labels map[string]string) map[string]string {
		data, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		o, err := r.Object(event.KindPod, data)
		if err != nil {
			t.Fatal(err)
		}
		clear(data) // the buffer is reused
		return o.(*event.Pod).Labels
	}
	same := func(a, b map[string]string) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	long := map[string]string{"a": strings.Repeat("x", maxCachedLabelBytes)}
	for _, labels := range []map[string]string{{}, {"app": "web", "team": "shop"}, {"app": "web"}, {"app": "we", "b": ""}, long} {
		first := read(labels)
		if !maps.Equal(first, labels) || first == nil {
			t.Errorf("got %v, want %v", first, labels)
		}
		if again := read(labels); !maps.Equal(again, labels) || same(first, again) == (len(labels["a"]) > 0) {
			t.Errorf("%.40v: the second time %.40v, shared: %v", labels, again, same(first, again))
		}
		read(map[string]string{"app": "other"}) // it may take the place of these labels in the cache
		if again := read(labels); !maps.Equal(again, labels) {
			t.Errorf("%.40v: after other labels %.40v", labels, again)
		}
	}
}
