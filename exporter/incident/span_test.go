package incident

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// An incident's moments are times as they were found, of whatever year a recording is, and with the reading of the clock that does
// not step when the time is set: else a heartbeat that is out would seem to be out for longer, or for less than nothing.
func TestMoments(t *testing.T) {
	for _, first := range []time.Time{time.Now(), zero, time.Unix(0, 0), time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)} {
		l := New(1)
		l.Observe(flap.Finding{Time: first, Kind: flap.HeartbeatSeen, Node: "node"})
		for _, after := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
			// The text of a time has both of its readings, where == does not do.
			if at, got := first.Add(after), l.time(l.moment(first.Add(after))); got.String() != at.String() {
				t.Errorf("%s is kept as %s", at, got)
			}
		}
	}
	if l := New(1); l.moment(time.Time{}) != 0 || !l.time(0).IsZero() {
		t.Error("no time is a moment")
	}
}
