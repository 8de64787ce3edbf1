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
	w, n, now := event.WorkloadName{Kind: "Deployment", Namespace: "shop", Name: "web"}, x.join("shop"), time.Unix(1772366400, 0)
	for i := range 100 {
		now = now.Add(10 * time.Minute)
		x.appear(&Pod{family: x.families.take(template{namespace: n, owner: owner{"ReplicaSet/web", fmt.Sprint(i), w}})}, now)
	}
	if len(n.appeared) != 2 {
		t.Errorf("%d revisions are kept", len(n.appeared))
	}
}
