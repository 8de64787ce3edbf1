package event_test

import (
	"math"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestMoments checks that a Moment keeps the monotonic clock reading and works in any year. Without that reading,
// setting the clock would change the age of the last heartbeat.
func TestMoments(t *testing.T) {
	for _, begin := range []time.Time{
		time.Now(), time.Unix(0, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		for _, after := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
			// String includes the wall clock and monotonic readings, whereas == would also compare locations.
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
