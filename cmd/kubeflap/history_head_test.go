package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// beginSegment replaces the recording by a new segment: a head, and the lists of all objects.
func (r *restarted) beginSegment() {
	r.head, r.headAt, r.recorded = head{}, r.cluster.now, nil
	if err := json.Unmarshal(r.pipeline.head(r.headAt), &r.head); err != nil {
		r.t.Fatal(err)
	}
	watched := r.cluster.sink
	r.cluster.sink = func(e event.Event) { r.recorded = append(r.recorded, e) }
	r.cluster.watch()
	r.cluster.sink = watched
}

func ongoing(all []incident.Incident) []incident.Incident {
	return slices.DeleteFunc(all, func(x incident.Incident) bool {
		return x.State != incident.StateRunning && x.State != incident.StatePending
	})
}

// TestIncidentsThatBeganBeforeTheRecording restarts kubeflap with recordings that begin while incidents are ongoing. What
// the lists at the beginning of the recordings show must keep its ID and its start.
func TestIncidentsThatBeganBeforeTheRecording(t *testing.T) {
	withoutRaceDetector(t)
	for _, x := range watchedStories(t) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			end := x.expected[len(x.expected)-1].at
			for i := range few(12, 2) {
				r := newRestarted(t, x.cluster())
				r.runUntil(math.Floor(end * (float64(i) + 0.5) / 12))
				want := ongoing(r.incidents())
				r.beginSegment()
				r.runUntil(r.cluster.second() + 15) // the clocks of nodes are known after their first heartbeats
				r.stops = true
				r.restart(r.cluster.second() + 5)
				r.runUntil(r.cluster.second() + 10)
				got := r.incidents()
				for _, x := range want {
					j := slices.IndexFunc(got, func(y incident.Incident) bool { return x.ID == y.ID || slices.Contains(y.Also, x.ID) })
					if j < 0 {
						if r.cluster.lists(x) {
							t.Errorf("at %g: missing: %s", r.cluster.second(), described(x))
						}
						continue
					}
					if y := got[j]; y.ID == x.ID && !y.Start.Equal(x.Start) && y.State == incident.StateRunning {
						t.Errorf("at %g: got %s, want %s", r.cluster.second(), described(y), described(x))
					}
				}
				r.kill()
			}
		})
	}
}

// lists reports whether lists of all objects and the heads of segments show that an incident is ongoing. They do not show
// silent nodes that are still Ready or were deleted, nor that nodes are marked again and again, nor that somebody removed
// pod addresses from Endpoints.
func (s *fakeCluster) lists(x incident.Incident) bool {
	for _, n := range s.nodes {
		if slices.Contains(x.Nodes, n.Name) && (n.gone || n.Ready.Status != event.StatusUnknown) {
			return false
		}
	}
	withdrawn := slices.ContainsFunc(x.Evidence, func(e incident.Evidence) bool { return strings.Contains(e.Text, "removed from Endpoints") })
	return x.Verdict != verdict.GracePeriod && !withdrawn
}

func outage(x incident.Incident) bool {
	return slices.ContainsFunc(x.Services, func(s incident.Service) bool { return s.Down })
}

// TestAnOutageThatBeganBeforeTheRecording restarts kubeflap with recordings that begin in the second hour of an outage.
func TestAnOutageThatBeganBeforeTheRecording(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service single 5; 300 unready single/1 until 9000"))
	r.runUntil(7000)
	before := r.only()
	if !outage(before) {
		t.Fatal(described(before))
	}
	r.beginSegment()
	r.runUntil(7100)
	r.restart(7130)
	r.runUntil(7200)
	x := r.only()
	if x.ID != before.ID || !x.Start.Equal(before.Start) || !outage(x) || x.Subject != before.Subject {
		t.Errorf("got %s, want %s", described(x), described(before))
	}
	r.runUntil(9700)
	if x := r.only(); x.State != incident.StateEnded || x.OutageTime.Round(time.Minute) != 145*time.Minute {
		t.Errorf("at the end: %s, down for %s", described(x), x.OutageTime)
	}
}

// TestAddressesThatWereLostBeforeTheRecording restarts kubeflap with recordings that begin in the second hour in which
// addresses of two Services are not ready. Both Services have other ready addresses.
func TestAddressesThatWereLostBeforeTheRecording(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service back 4 5 6; 0 service gone 4 5 6; 300 unready back/1 until 9000; 400 unready gone/1; 9000 remove gone/1"))
	r.runUntil(7000)
	before := r.incidents()
	if len(before) != 2 {
		t.Fatalf("before the restart: %+v", before)
	}
	for _, second := range []float64{7100, 7160} { // the second head depends on the first one
		r.beginSegment()
		r.runUntil(second)
		r.restart(second + 30)
	}
	for _, second := range []float64{7200, 9100, 9700} {
		r.runUntil(second)
		after := r.incidents()
		for i, x := range after {
			ongoing, want := second < 9000, before[min(i, 1)]
			if x.ID != want.ID || !x.Start.Equal(want.Start) || x.Subject != want.Subject || x.Verdict != want.Verdict || (x.State == incident.StateRunning) != ongoing ||
				!ongoing && x.End.Sub(storyBegin).Round(time.Minute) != 150*time.Minute || x.Services[0].Lost != 1 {
				t.Errorf("at %g: got %s, want %s", second, described(x), described(want))
			}
		}
		if len(after) != 2 {
			t.Errorf("at %g: %d incidents, want 2", second, len(after))
		}
	}
}

// TestAnIncidentThatBecameHarmfulBeforeTheRecording covers an in-place update that is reported because an address was lost
// twice. When the recordings begin, another address has been away for less than stuckAfter.
func TestAnIncidentThatBecameHarmfulBeforeTheRecording(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service solo 4 5 6; 300 update solo/1 kill 1 until 321; 340 update solo/1 kill 1 until 361; 400 update solo/2 kill 1 until 461"))
	r.runUntil(430)
	before := r.only()
	r.beginSegment()
	r.runUntil(440)
	r.stops = true
	r.restart(442)
	r.runUntil(900)
	if x := r.only(); x.ID != before.ID || x.State != incident.StateEnded || r.ends(x.ID) != 1 {
		t.Errorf("got %s, reported %s, want the end of %s", described(x), r.notices(), described(before))
	}
}

// TestAddressesOfADisplacedIncident covers lost addresses of an incident that a newer one displaced. They must not become
// part of a later incident of the same workload.
func TestAddressesOfADisplacedIncident(t *testing.T) {
	r := sized(t, told(t, "start 9; 0 service a 4 5 6; 0 service b 4 5 6; 300 unready a/1; 400 unready b/1; 500 unready a/2 until 9000"), 1)
	r.runUntil(7000)
	before := r.only()
	r.beginSegment()
	r.runUntil(7100)
	r.restart(7130)
	r.runUntil(9500)
	if x := r.only(); x.ID != before.ID || !x.Start.Equal(before.Start) || x.State != incident.StateEnded || x.Services[0].Lost != 1 {
		t.Errorf("got %s, want the end of %s", described(x), described(before))
	}
}

// TestAHeadThatIsWrittenLate checks that a head does not contain what happened after the beginning of its segment.
func TestAHeadThatIsWrittenLate(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service single 5; 300 silent 5 until 2000"))
	r.runUntil(290)
	begins := r.cluster.now
	r.runUntil(400)
	var late head
	if err := json.Unmarshal(r.pipeline.head(begins), &late); err != nil {
		t.Fatal(err)
	}
	if len(late.Tracker.Outages)+len(late.Incidents.Ongoing)+len(late.Tracker.Nodes.Silences) > 0 {
		t.Errorf("at %s: %+v", begins, late)
	}
	var now head
	if err := json.Unmarshal(r.pipeline.head(r.cluster.now), &now); err != nil {
		t.Fatal(err)
	}
	if len(now.Tracker.Outages) != 1 || len(now.Incidents.Ongoing) != 1 {
		t.Errorf("later: %+v", now)
	}
}

// TestWhatWasSeenBeforeTheRecordingIsKnown checks that the grace period and its recommendation survive a restart whose
// recordings begin later than the heartbeats that showed them.
func TestWhatWasSeenBeforeTheRecordingIsKnown(t *testing.T) {
	c := told(t, "start 9; 500 silent 5 until 600; 4000 silent 6 until 4100; repeat 6 every 600;     300 slow 3 every 30 31 32")
	r := newRestarted(t, c)
	r.runUntil(7000)
	recommended := r.pipeline.incidents.GracePeriod(c.now).Recommended()
	silences := len(r.pipeline.incidents.Past(c.now).Silences)
	if recommended == 0 || silences != 2 {
		t.Fatalf("recommended %s after %d silences", recommended, silences)
	}
	r.beginSegment()
	r.runUntil(7010)
	r.restart(7020)
	r.runUntil(7100)
	if got := r.pipeline.incidents.GracePeriod(c.now).Recommended(); got != recommended {
		t.Errorf("recommended %s, want %s", got, recommended)
	}
	if table := r.pipeline.tracker.GraceTable(c.now); table.Since.After(storyBegin.Add(time.Minute)) || table.Rows[2].Silences.AtMost < 2 {
		t.Errorf("the table of grace periods begins at %s: %v", table.Since, table.Rows)
	}
	past := r.pipeline.incidents.Past(c.now)
	if got := len(past.Silences); got != silences || past.Observed.Round(time.Minute) != 118*time.Minute {
		t.Errorf("%d silences in %s, want %d", got, past.Observed, silences)
	}
}
