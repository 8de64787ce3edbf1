package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestListsStayShortAfterManyRestarts restarts kubeflap 30 times during one incident.
func TestListsStayShortAfterManyRestarts(t *testing.T) {
	withoutRaceDetector(t)
	r := newRestarted(t, "start 9; 0 service single 5; 300 silent 5 until 90000")
	r.runUntil(400)
	for i := range 30 {
		r.restart(400 + float64(i+1)*130)
		r.runUntil(r.cluster.Second() + 100)
	}
	x := r.only()
	if len(x.Evidence) > 36 || x.EvidenceLeftOut == 0 || len(x.Timeline) > 96 || x.Outages != 1 {
		t.Errorf("%d evidence entries and %d more, %d timeline intervals, %d outages", len(x.Evidence), x.EvidenceLeftOut, len(x.Timeline), x.Outages)
	}
	if !slices.IsSortedFunc(x.Evidence, func(a, b incident.Evidence) int { return a.Time.Compare(b.Time) }) {
		t.Error("the evidence is not sorted")
	}
}

// TestForbiddenNodesEndNoIncident restarts kubeflap when it is no longer allowed to see nodes. Nobody knows then
// whether the node is still silent.
func TestForbiddenNodesEndNoIncident(t *testing.T) {
	r := newRestarted(t, "start 9; 300 silent 5 until 3000")
	r.runUntil(400)
	r.cluster.Watchers[0].Lack(event.KindNode, event.ReasonForbidden)
	r.restart(410)
	r.runUntil(900)
	if x := r.only(); x.State != incident.StateOngoing {
		t.Errorf("%s while nodes are forbidden: %s", x.State, x.Summary)
	}
	r.cluster.Watchers[0].Lack(event.KindNode, "")
	r.cluster.Watchers[0].List(event.KindNode)
	r.runUntil(3300)
	for _, x := range r.incidents() {
		if slices.Contains(x.Nodes, "node-5") && (x.State != incident.StateResolved || r.ends(x.ID) != 1 || x.End.Sub(storyBegin) < 50*time.Minute) {
			t.Errorf("%s at %s, reported %d times: %s", x.State, x.End, r.ends(x.ID), x.Summary)
		}
	}
}

// TestTheClockIsSetBackDuringARestart sets the clock back while kubeflap is not running, and while or after node-5 is silent.
// An hour is too much, so kubeflap starts without its history. No incident must end before its start.
func TestTheClockIsSetBackDuringARestart(t *testing.T) {
	withoutRaceDetector(t)
	for name, x := range map[string]struct {
		story       string
		stop, start float64
		by          time.Duration
		notices     string
	}{
		"by an hour in an incident that is over after the restart": {"start 9; 300 silent 5 until 2000", 400, 2500, time.Hour, "started node-5 node"},
		"by an hour after a recovery":                              {"start 9; 4000 silent 5 until 4100", 4130, 4140, time.Hour, "started node-5 node"},
		"by less than the slack":                                   {"start 9; 300 silent 5 until 1000", 400, 401, 3 * time.Second, "started node-5 node, ended node-5 node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestarted(t, x.story)
			c := r.cluster
			r.runUntil(x.stop)
			r.stops = true
			r.kill()
			c.RunUntil(x.start)
			c.Now = c.Now.Add(-x.by)
			r.begin()
			c.Watchers[0].Start()
			for range 1800 {
				if c.Now = c.Now.Add(500 * time.Millisecond); x.by < clockSlack {
					c.RunUntil(c.Second())
				}
				r.pipeline.tick()
			}
			// The other nodes are silent, too, if their clocks are not those of kubeflap.
			r.reported = slices.DeleteFunc(r.reported, func(n incident.Notice) bool { return n.Incident.Subject != "node-5" })
			if got := r.notices(); got != x.notices {
				t.Errorf("reported %s, want %s", got, x.notices)
			}
			checkOrder(t, r.incidents())
			for _, x := range r.incidents() {
				if x.Subject == "node-5" && x.State != incident.StateResolved {
					t.Errorf("15 minutes after the restart: %s", described(x))
				}
			}
		})
	}
}

// TestTheClockWasSetBackBeforeARestart has a recording that begins with a clock that is ahead by ten minutes. Soon after a
// restart, node-5 falls silent.
func TestTheClockWasSetBackBeforeARestart(t *testing.T) {
	r := newRestarted(t, "start 9; 400 silent 5 until 1000")
	r.runUntil(300)
	for i := range r.recorded {
		if e := &r.recorded[i]; e.Seen.Before(storyBegin.Add(seconds(200))) {
			e.Seen = e.Seen.Add(10 * time.Minute)
		}
	}
	r.restart(301)
	r.runUntil(500)
	if got := r.notices(); got != "started node-5 node" {
		t.Errorf("reported %q", got)
	}
}

// TestALongGap restarts kubeflap after more than ten minutes. It must show that its incidents were interrupted, and begin
// anew with what the lists show. A later process that replays the recordings, with their hole, must show the same.
func TestALongGap(t *testing.T) {
	r := newRestarted(t, "start 9; 0 service single 5; 300 silent 5 until 5000; 350 unready web/3 until 900")
	texts := func() (all []string) {
		for _, x := range r.incidents() {
			all = append(all, described(x)+" | "+x.Summary)
		}
		return all
	}
	r.runUntil(400)
	r.restart(1100)
	r.runUntil(1200)
	shown := texts()
	if len(shown) != 2 || !strings.Contains(shown[0], "node-5 sent no heartbeat for 15m08s (assumed grace period 40s), and was Unknown when kubeflap started.") ||
		!strings.Contains(shown[1], "its end is unknown") || r.incidents()[1].End.Sub(storyBegin) > seconds(400) {
		t.Errorf("got %q", shown)
	}
	if got, want := r.notices(), "started node-5 node, started Deployment/web workload, started node-5 node"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
	r.restart(1200.5)
	if got := texts(); !slices.Equal(got, shown) {
		t.Errorf("after another restart: %q, want %q", got, shown)
	}
}

// TestCountersBeginAtZero restarts kubeflap when all incidents have ended. No counter must contain what they counted.
func TestCountersBeginAtZero(t *testing.T) {
	r := newRestarted(t, "start 9; 0 service single 5; 300 silent 5 until 600; 400 unready web/1 until 450; 700 break pods until 720: timeout")
	r.runUntil(1500)
	r.kill()
	r.begin()
	families := gather(t, r.pipeline)
	for _, family := range families {
		for _, m := range family.Metric {
			if n := valueOf(m); n > 0 && family.GetType() != dto.MetricType_GAUGE {
				t.Errorf("%s%v is %g", family.GetName(), m.Label, n)
			}
		}
	}
}

// TestAHeadThatIsWrittenLate checks that a head does not contain what happened after the beginning of its segment.
func TestAHeadThatIsWrittenLate(t *testing.T) {
	r := newRestarted(t, "start 9; 0 service single 5; 300 silent 5 until 2000")
	r.runUntil(290)
	begins := r.cluster.Now
	r.runUntil(400)
	if late := r.headOf(begins); len(late.Tracker.Outages)+len(late.Incidents.Ongoing)+len(late.Tracker.Nodes.Silences) > 0 {
		t.Errorf("at %s: %+v", begins, late)
	}
	if now := r.headOf(r.cluster.Now); len(now.Tracker.Outages) != 1 || len(now.Incidents.Ongoing) != 1 {
		t.Errorf("later: %+v", now)
	}
}

// TestWhatWasSeenBeforeTheRecordingIsKnown checks that the grace period and its recommendation survive a restart whose
// recordings begin later than the heartbeats that showed them.
func TestWhatWasSeenBeforeTheRecordingIsKnown(t *testing.T) {
	r := newRestarted(t, "start 9; 500 silent 5 until 600; 4000 silent 6 until 4100; repeat 6 every 600;     300 slow 3 every 30 31 32")
	c := r.cluster
	r.runUntil(7000)
	recommended := r.pipeline.incidents.GracePeriod(c.Now).Recommended()
	silences := len(r.pipeline.incidents.Past(c.Now).Silences)
	if recommended == 0 || silences < 3 {
		t.Fatalf("recommended %s after %d silences", recommended, silences)
	}
	r.beginSegment()
	r.runUntil(7010)
	r.restart(7020)
	r.runUntil(7100)
	if got := r.pipeline.incidents.GracePeriod(c.Now).Recommended(); got != recommended {
		t.Errorf("recommended %s, want %s", got, recommended)
	}
	if table := r.pipeline.tracker.GraceTable(c.Now); table.Since.After(storyBegin.Add(time.Minute)) || table.Rows[2].Silences.AtMost < 2 {
		t.Errorf("the table of grace periods begins at %s: %v", table.Since, table.Rows)
	}
	past := r.pipeline.incidents.Past(c.Now)
	if got := len(past.Silences); got != silences || past.Observed.Round(time.Minute) != 118*time.Minute {
		t.Errorf("%d silences in %s, want %d", got, past.Observed, silences)
	}
}
