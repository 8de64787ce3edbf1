package watches

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

func TestVersionsThatAreNoNumbersSayNothing(t *testing.T) {
	var g lags
	for _, text := range []string{"", "abc", "-1", "99999999999999999999999"} {
		g.note(event.KindNode, text, zero)
	}
	if g.newest != 0 {
		t.Errorf("version %v, want none", g.newest)
	}
}

// TestVersionsThatGoBackAreNoLagForEver covers versions that go back when etcd is restored from a backup.
func TestVersionsThatGoBackAreNoLagForEver(t *testing.T) {
	var w Watches
	w.lags.note(event.KindLease, "5000", zero)
	w.lags.note(event.KindNode, "100", clock(1))
	if !w.LaggingUntil(event.KindNode).After(clock(1)) {
		t.Error("a watch that shows an old version does not lag at once")
	}
	w.lags.note(event.KindLease, "101", clock(20))
	w.lags.note(event.KindPod, "102", clock(21))
	if w.LaggingUntil(event.KindPod).After(clock(21)) {
		t.Error("a watch that follows the lower versions lags")
	}
}
