package pods

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestOldRevisionsAreForgotten(t *testing.T) {
	x := New(watches.New(), &transition.List{}, nil, nil)
	w, now := event.WorkloadName{Kind: "Deployment", Namespace: "shop", Name: "web"}, time.Unix(1772366400, 0)
	for i := range 100 {
		now = now.Add(10 * time.Minute)
		for due, forget := x.watches.Due(now); forget != nil; due, forget = x.watches.Due(now) {
			x.watches.AdvanceTo(due)
			forget()
		}
		x.appear(&Pod{family: x.families.take(template{owner: owner{"ReplicaSet/web", fmt.Sprint(i), w}})}, now)
	}
	if n := len(x.appeared[w]); n != 2 {
		t.Errorf("%d revisions are kept", n)
	}
}
