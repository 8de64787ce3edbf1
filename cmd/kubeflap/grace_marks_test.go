package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// graceMark is a silence in one of the lab's clusters, and whether the controller manager marked the node as Unknown.
// The same silences happened in each cluster. Predicted holds the best possible prediction for this cluster from the
// recordings of the other clusters, by their grace period.
type graceMark struct {
	Grace, Monitor, Node string
	From, To             time.Time
	Unknown              bool
	Predicted            map[string]string
}

// graceCluster is one of the lab's clusters: its controller manager's settings, its silences in order for each node, and
// what kubeflap saw in its recording.
type graceCluster struct {
	grace, monitor time.Duration
	marks          map[string][]graceMark
	pipeline       *pipeline
	// unknown holds the times at which nodes turned Unknown. intervals holds the heartbeat intervals.
	unknown   []transition.NodeReadyChanged
	intervals []transition.HeartbeatSeen
	// lost is the number of ready addresses that Services lost because nodes turned Unknown.
	lost int
}

func (c *graceCluster) incident(time.Time, incident.Notice) {}

func (c *graceCluster) transition(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		c.intervals = append(c.intervals, x)
	case transition.NodeReadyChanged:
		if x.From == event.StatusTrue && x.To == event.StatusUnknown {
			c.unknown = append(c.unknown, x)
		}
	case transition.AddressLost:
		if x.Cause.OfNode() {
			c.lost++
		}
	}
}

// readGraceClusters replays the recordings of the lab's four controller managers.
func readGraceClusters(t *testing.T) map[string]*graceCluster {
	t.Helper()
	clusters := map[string]*graceCluster{}
	for lines := openLines(t, "testdata/grace/grace-marks.jsonl.gz"); lines.More(); {
		var x graceMark
		if err := lines.Decode(&x); err != nil {
			t.Fatal(err)
		}
		c := clusters[x.Grace]
		if c == nil {
			c = &graceCluster{grace: duration(t, x.Grace), monitor: duration(t, x.Monitor), marks: map[string][]graceMark{}}
			clusters[x.Grace] = c
		}
		c.marks[x.Node] = append(c.marks[x.Node], x)
	}
	for _, c := range clusters {
		for _, marks := range c.marks {
			slices.SortFunc(marks, func(a, b graceMark) int { return a.From.Compare(b.From) })
		}
		clock := recording.NewClock(0)
		c.pipeline = newPipeline(trackerSettings(), clock.Now, c)
		play(t, "testdata/grace/grace-"+c.grace.String()+"-"+c.monitor.String()+recordingSuffix, clock, c.pipeline.apply)
		c.pipeline.finish()
		checkSentences(t, c.pipeline)
	}
	if len(clusters) != 4 {
		t.Fatalf("got marks of %d controller managers, want 4", len(clusters))
	}
	return clusters
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// silence returns the heartbeat interval that kubeflap measured for a silence.
func (c *graceCluster) silence(t *testing.T, x graceMark) controlplane.Silence {
	t.Helper()
	i := slices.IndexFunc(c.intervals, func(one transition.HeartbeatSeen) bool {
		return one.Node == x.Node && one.Time.Sub(x.To).Abs() < receivedWithin && one.Interval > x.To.Sub(x.From)/2
	})
	if i < 0 {
		t.Fatalf("%s: kubeflap did not see the silence of %s from %s to %s", c.grace, x.Node, x.From, x.To)
	}
	return controlplane.Silence{Shortest: c.intervals[i].Interval, Longest: c.intervals[i].Interval}
}

// TestGracePeriodsAgainstControllerManagers compares the outcome of each silence with what real controller managers did.
// The silences were measured in each of the four clusters, and apply to the settings of each cluster.
func TestGracePeriodsAgainstControllerManagers(t *testing.T) {
	outcomes := map[controlplane.Range]string{{AtLeast: 1, AtMost: 1}: "yes", {}: "no", {AtMost: 1}: "too_close"}
	got := map[string]int{}
	clusters := readGraceClusters(t)
	for measured, from := range clusters {
		for _, to := range clusters {
			for node, marks := range from.marks {
				for i, x := range marks {
					s, real := from.silence(t, x), to.marks[node][i]
					is := outcomes[controlplane.RowOf([]controlplane.Silence{s}, to.grace, to.monitor).Silences]
					if is == "yes" && !real.Unknown || is == "no" && real.Unknown {
						t.Errorf("with %s and %s, a silence of %s of %s turns it Unknown: %s, but the controller manager did: %t", to.grace, to.monitor, s.Longest, node, is, real.Unknown)
					}
					if from == to {
						continue
					}
					if want := real.Predicted[measured]; is != want {
						t.Errorf("from %s to %s, a silence of %s: %s, want %s", measured, to.grace, s.Longest, is, want)
					}
					got[is]++
				}
			}
		}
	}
	if want := map[string]int{"yes": 171, "no": 90, "too_close": 27}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestGraceTableAgainstControllerManagers compares the row of the real grace period with what the controller manager did.
func TestGraceTableAgainstControllerManagers(t *testing.T) {
	compared := 0
	for name, c := range readGraceClusters(t) {
		for _, row := range c.pipeline.gracePeriods().Rows {
			if row.GracePeriod != c.grace.Seconds() {
				continue
			}
			compared++
			if unknown := len(c.unknown); unknown < row.Silences.AtLeast || unknown > row.Silences.AtMost || row.Silences.AtMost-row.Silences.AtLeast > 4 {
				t.Errorf("%s: %s silences turn a node Unknown, but %d nodes turned Unknown", name, row.Silences, unknown)
			}
			if c.lost < row.Addresses.AtLeast || c.lost > row.Addresses.AtMost {
				t.Errorf("%s: %s addresses are lost, but Services lost %d", name, row.Addresses, c.lost)
			}
			if want := (c.grace + c.monitor).Seconds(); row.NoticedAfter != want {
				t.Errorf("%s: a dead node is noticed after %g s, want %g s", name, row.NoticedAfter, want)
			}
		}
	}
	if compared != 3 {
		t.Errorf("compared %d rows, want 3", compared)
	}
}
