package decode

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func readPod(t *testing.T, r *Reader, pod *corev1.Pod) *event.Pod {
	t.Helper()
	var slim event.Pod
	if err := json.Unmarshal(decoded(t, r, event.KindPod, pod), &slim); err != nil {
		t.Fatal(err)
	}
	return &slim
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
		{
			"other flags", "kcm",
			[]string{"kcm", "--node-monitor-period=2s", "--kube-api-qps=0", "--pod-eviction-timeout", "1m"},
			nil,
			event.ControllerManager{Flags: event.ControllerManagerFlags{MonitorPeriod: 2 * time.Second, EvictionTimeout: time.Minute}},
		},
		{"a registry with a port, no tag", "localhost:5000/kcm", nil, nil, event.ControllerManager{}},
		{"a registry with a port, a tag and a digest", "localhost:5000/kcm:v1.31.0@sha256:abcd", nil, nil, event.ControllerManager{Version: "v1.31.0"}},
		{"a digest alone", "kcm@sha256:abcd", nil, nil, event.ControllerManager{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": "kube-controller-manager"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Image: c.image, Command: c.command, Args: c.args}, {Command: []string{"20s"}}, // no value of a flag in the other container
				}},
			}
			got := readPod(t, &Reader{}, pod).ControllerManager
			if !reflect.DeepEqual(got, &c.want) {
				t.Errorf("got %+v with %+v, want %+v with %+v", got, got.Flags, c.want, c.want.Flags)
			}
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
