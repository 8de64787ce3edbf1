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

// TestABreakIsNoticedLate checks that the time of an outage that was already counted is not taken back.
func TestABreakIsNoticedLate(t *testing.T) {
	for _, noticed := range []int{20, 200} { // both breaks began at 0
		w, k := New(), event.KindService
		w.AdvanceTo(clock(0))
		w.RecordListEnd(event.Event{Seen: clock(0), Kind: k, Type: event.Synced})
		w.RecordWorking(event.Event{Seen: clock(0), Kind: k, Type: event.Synced})
		w.AdvanceTo(clock(noticed))
		w.RecordBreak(event.Event{Seen: clock(noticed), Kind: k, Type: event.Down, Reason: event.ReasonSilent})
		w.AdvanceTo(clock(noticed + 90))
		if since, ok := w.BlindSince(k, 90*time.Second); !since.Equal(clock(max(90, noticed))) || !ok {
			t.Errorf("noticed at %d s: blind since %v, %t", noticed, since, ok)
		}
	}
}
