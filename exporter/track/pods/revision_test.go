package pods

import (
	"fmt"
	"testing"
	"time"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestOldRevisionsAreForgotten(t *testing.T) {
	a := appearances{of: map[event.WorkloadName][]appearance{}}
	w, now := event.WorkloadName{Kind: "Deployment", Namespace: "shop", Name: "web"}, time.Unix(1772366400, 0)
	for i := range 100 {
		now = now.Add(10 * time.Minute)
		a.note(&Pod{owner: unique.Make(owner{"ReplicaSet/web", fmt.Sprint(i), w})}, now)
		a.forget(now)
	}
	if n := len(a.of[w]); n != 2 {
		t.Errorf("%d revisions are kept", n)
	}
}
