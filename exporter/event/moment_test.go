package event_test

import (
	"math"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Moments are times as they were seen, of whatever year a recording is, and with the reading of the clock that does not step when the
// time is set: else a heartbeat that is out would seem to be out for longer, or for less than nothing.
func TestMoments(t *testing.T) {
	for _, begin := range []time.Time{
		time.Now(), time.Unix(0, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		for _, after := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
			// The text of a time has both of its readings, where == does not do.
			if at, got := begin.Add(after), event.MomentOf(begin.Add(after), begin).Time(begin); got.String() != at.String() {
				t.Errorf("%s is remembered as %s", at, got)
			}
		}
		if early, late := event.MomentOf(begin.Add(math.MinInt64), begin), event.MomentOf(begin.Add(math.MaxInt64), begin); early >= late {
			t.Errorf("what is centuries before %s is remembered as later than what is centuries after it", begin)
		}
		if event.MomentOf(time.Time{}, begin) != 0 || !event.Moment(0).Time(begin).IsZero() {
			t.Error("no time is a moment")
		}
	}
}
