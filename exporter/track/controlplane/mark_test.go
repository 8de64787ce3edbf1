package controlplane

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestTheAgeOfTheNewestHeartbeatAtAMark(t *testing.T) {
	zero := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	for _, c := range []struct {
		name             string
		seen, transition float64
		// delay is in seconds; 0 means unknown.
		delay      float64
		heartbeats []float64
		age        float64
	}{
		{"8 s old", 108.2, 108, 0, []float64{100, 90}, 8.2},
		{"the newest may be in flight", 102.2, 102, 0, []float64{100, 90}, 12.2},
		{"the write hung, and the controller's clock is not known", 108, 95, 0, []float64{100, 90}, 0},
		{"the write hung for 33 s, and three heartbeats came", 128, 95, 0.1, []float64{120, 110, 100, 88}, 8.1},
		{"the same, and the node had been silent for long", 128, 95, 0.1, []float64{120, 110, 100, 50}, 46.1},
		{"the controller's clock is an hour ahead", 128, 3695, -3599.9, []float64{120, 110, 100, 88}, 8.1},
		{"a prompt write is not later than its arrival", 108.2, 108, 0.1, []float64{100, 90}, 8.2},
		{"the controller's clock was set meanwhile", 108, 130, 0.1, []float64{100, 90}, 0},
		{"the heartbeat was before kubeflap could see", 28, 21, 0.1, []float64{20, -5}, 0},
		{"there is no heartbeat that the controller must have seen", 108, 104, 0.1, []float64{100}, 0},
	} {
		var heartbeats []time.Time
		for _, s := range c.heartbeats {
			heartbeats = append(heartbeats, at(s))
		}
		w := watches.New()
		x := New(0, w, &transition.List{})
		if c.delay != 0 {
			w.RecordWorking(event.Event{Seen: zero.Add(-time.Hour), Kind: event.KindControlPlaneLease, Type: event.Synced})
			x.leases[event.LeaseControllerManager] = &lease{delays: slices.Repeat([]time.Duration{time.Duration(c.delay * float64(time.Second))}, minDelays)}
		}
		if age := x.AgeAtMark(at(c.seen), event.ControllerTime(at(c.transition)), heartbeats, zero); (age - time.Duration(c.age*float64(time.Second))).Abs() > time.Millisecond {
			t.Errorf("%s: %s, want %v s", c.name, age, c.age)
		}
	}
}
