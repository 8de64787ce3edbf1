package watches

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestWithin(t *testing.T) {
	c := Coverage{Gaps: []Gap{{From: clock(10), To: clock(20)}, {From: clock(30)}}}
	for _, test := range []struct {
		from, to time.Time
		want     int
	}{{time.Time{}, time.Time{}, 2}, {clock(21), time.Time{}, 1}, {time.Time{}, clock(5), 0}, {clock(15), clock(16), 1}, {clock(40), clock(50), 1}} {
		if got := len(c.Within(test.from, test.to)); got != test.want {
			t.Errorf("from %v to %v: %d gaps, want %d", test.from, test.to, got, test.want)
		}
	}
}

// TestMissed checks that each watched resource has a description of the missed changes.
func TestMissed(t *testing.T) {
	for _, k := range event.Kinds() {
		if g := (Gap{Resources: []string{k.String()}}); g.Missed() == "" {
			t.Errorf("no description for %s", k)
		}
	}
}
