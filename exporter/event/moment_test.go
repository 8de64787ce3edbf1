package event_test

import (
	"math"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// A Moment keeps the time of any year, and the monotonic clock reading. Without that reading, setting the clock would change how
// long a heartbeat has been missing.
func TestMoments(t *testing.T) {
	for _, begin := range []time.Time{
		time.Now(), time.Unix(0, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		for _, after := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
			// The text has the wall clock reading and the monotonic one. Times cannot be compared with ==.
			if at, got := begin.Add(after), event.MomentOf(begin.Add(after), begin).Time(begin); got.String() != at.String() {
				t.Errorf("%s is remembered as %s", at, got)
			}
		}
		if early, late := event.MomentOf(begin.Add(math.MinInt64), begin), event.MomentOf(begin.Add(math.MaxInt64), begin); early >= late {
			t.Errorf("centuries before %s became later than centuries after it", begin)
		}
		if event.MomentOf(time.Time{}, begin) != 0 || !event.Moment(0).Time(begin).IsZero() {
			t.Error("no time is a moment")
		}
	}
}
