package controlplane

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// turnsUnknown simulates the passes of a node controller. The node sends a heartbeat at 0, and the next one after the
// silence. The first pass after the heartbeat is at `first`. A pass and the pause after it take `every`.
func turnsUnknown(silence, period, first, every time.Duration) bool {
	for now := first; now < silence; now += every {
		if now-first > period {
			return true
		}
	}
	return false
}

// TestOutcomeForEveryTimingOfTheController checks that an outcome is only certain if it does not depend on the times of
// the controller's passes.
func TestOutcomeForEveryTimingOfTheController(t *testing.T) {
	certain := 0
	for _, period := range []time.Duration{20 * time.Second, 24 * time.Second, 31 * time.Second, 50 * time.Second} {
		for _, monitor := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 7 * time.Second} {
			for silence := 10 * time.Second; silence < 80*time.Second; silence += 170 * time.Millisecond {
				s := Silence{Shortest: silence, Longest: silence}
				unknown, ready := 0, 0
				for _, every := range []time.Duration{monitor + time.Microsecond, monitor + pass} {
					for first := time.Duration(1); first <= monitor; first += monitor / 50 {
						if turnsUnknown(silence, period, first, every) {
							unknown++
						} else {
							ready++
						}
					}
				}
				switch is := RowOf([]Silence{s}, period, monitor).Silences; {
				case is == Range{1, 1} && ready > 0, is == Range{0, 0} && unknown > 0:
					t.Fatalf("with %s and %s, a silence of %s turns the node Unknown %s times, but %d timings make it Unknown and %d do not", period, monitor, silence, is, unknown, ready)
				case is.AtLeast == is.AtMost:
					certain++
				}
			}
		}
	}
	if certain < 5000 {
		t.Errorf("only %d certain outcomes", certain)
	}
}

// TestMonitorPeriodFromFlags checks that no flag makes the table meaningless.
func TestMonitorPeriodFromFlags(t *testing.T) {
	for flag, want := range map[time.Duration]time.Duration{
		2 * time.Second: 2 * time.Second, 1: time.Millisecond, 0: 5 * time.Second, -time.Second: 5 * time.Second, 1 << 62: time.Hour,
	} {
		g := newGracePeriod(0, watches.New(), &transition.List{})
		if period := g.MonitorPeriod(); period != 5*time.Second {
			t.Errorf("without a controller manager: %s", period)
		}
		g.managers[event.ParseUID("one")] = event.ControllerManager{Flags: event.ControllerManagerFlags{MonitorPeriod: flag}}
		if period := g.MonitorPeriod(); period != want {
			t.Errorf("with %s: %s, want %s", flag, period, want)
		}
	}
}
