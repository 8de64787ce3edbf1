package event_test

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestWorkloadOfAPod(t *testing.T) {
	for _, c := range []struct {
		owner, hash string
		want        event.WorkloadName
	}{
		{"ReplicaSet/web-5d4", "5d4", event.WorkloadName{Kind: "Deployment", Namespace: "shop", Name: "web"}},
		{"ReplicaSet/web-5d4-5d4", "5d4", event.WorkloadName{Kind: "Deployment", Namespace: "shop", Name: "web-5d4"}},
		{"StatefulSet/db", "", event.WorkloadName{Kind: "StatefulSet", Namespace: "shop", Name: "db"}},
		{"ReplicaSet/web-5d4", "", event.WorkloadName{}},    // of no Deployment
		{"ReplicaSet/web-", "", event.WorkloadName{}},       // the same
		{"ReplicaSet/web-5d4", "abc", event.WorkloadName{}}, // adopted
		{"ReplicaSet/-5d4", "5d4", event.WorkloadName{}},    // no name
		{"Rollout/web-5d4", "5d4", event.WorkloadName{}},    // Argo Rollouts
		{"DaemonSet/agent", "5d4", event.WorkloadName{}},
		{"", "5d4", event.WorkloadName{}},
	} {
		pod := &event.Pod{Meta: event.Meta{Namespace: "shop"}, Owner: c.owner}
		if c.hash != "" {
			pod.Labels = map[string]string{"pod-template-hash": c.hash}
		}
		if got, ok := pod.Workload(); got != c.want || ok != (c.want != event.WorkloadName{}) {
			t.Errorf("%s with %q: %v %v", c.owner, c.hash, got, ok)
		}
	}
}
