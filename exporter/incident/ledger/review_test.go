package ledger

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
)

// TestOldChangesDoNotRepeatTheReviews records changes from long before now, because kubeflap's clock leapt forward, while
// another incident changes now. The number of reviews must not depend on the age of these changes.
func TestOldChangesDoNotRepeatTheReviews(t *testing.T) {
	reviews := func(age time.Duration) (n int) {
		l := newLedger(10)
		l.InTurn = func(silence.List, time.Time) { n++ }
		fails := func(node string, t time.Time) {
			r := l.Begin(incident.Subject{Kind: incident.KindNode, Name: node, Cause: cause.NodeHeartbeatLost}, t, 0)
			r.Fails(incident.Silent(node), t)
			l.Touch(r, t)
		}
		l.Advance(zero)
		fails("node-1", zero)
		fails("node-2", zero.Add(-age))
		l.Advance(zero.Add(time.Second / 2))
		fails("node-3", zero.Add(-age/2))
		l.Advance(zero.Add(time.Minute))
		return n
	}
	for _, age := range []time.Duration{0, 10 * time.Second, time.Hour, 24 * time.Hour} {
		if n := reviews(age); n > 12 { // one of each old change, and the usual ones
			t.Errorf("changes that are %s old: %d reviews, want at most 12", age, n)
		}
	}
}
