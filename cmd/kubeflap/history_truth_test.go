package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// restartStory is the part of a story in which one kubeflap is restarted and another one is not.
type restartStory struct {
	// restarts are the stops, each until the next start, and the moments at which a new segment of the recording begins.
	// If killed is set, each stop is a kill.
	restarts []clustertest.Act
	killed   bool
	// looks holds the seconds at which both must show the same incidents.
	looks []float64
	// size is the maximum number of incidents to keep. 0 means 500.
	size int
	// unknown lists what kubeflap does not know after the restarts.
	unknown string
	// steady is set if the first incident does not change. Then, it must show each restart, and keep its evidence.
	steady bool
}

// TestRestarts plays the stories of restarts. They cover what TestRestartsInAllStories does not: more than one restart, what
// changes after the restart, recordings that begin in an incident, and few incidents that are kept.
func TestRestarts(t *testing.T) {
	for _, x := range readStories(t, "restarts") {
		t.Run(x.Name, x.run)
	}
}

// run restarts one of two kubeflaps, and compares their incidents and the number of reported ends.
func (x *scenario) run(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	begin := func() *restarted {
		return startRestarted(&restarted{t: t, cluster: x.Cluster(0), size: cmp.Or(x.size, 500)})
	}
	truth, r := begin(), begin()
	away, next := 0.0, 0
	var before []incident.Incident
	for _, at := range x.looks {
		for ; next < len(x.restarts) && x.restarts[next].At < at; next++ {
			if r.runUntil(x.restarts[next].At); next == 0 {
				before = r.incidents()
			}
			away += r.does(x.restarts[next], x.killed)
		}
		truth.runUntil(at)
		r.runUntil(at)
		x.sameAsTruth(t, at, seconds(away), truth.incidents(), r.incidents())
	}
	sameEnds(t, truth, r)
	checkOrder(t, r.incidents())
	r.checkEnded(before)
	if x.steady {
		x.checkRestarts(r, before[0])
	}
	if x.size == 0 {
		r.opensAll()
	}
	truth.kill()
	r.kill()
}

// does begins a new segment, or restarts kubeflap. It returns how many seconds kubeflap was away.
func (r *restarted) does(a clustertest.Act, killed bool) float64 {
	if a.Verb == "segment" {
		r.beginSegment()
		return 0
	}
	if r.stops = !killed; a.Reason != "" {
		r.kill()
		if err := os.Remove(filepath.Join(r.dir, string(a.Reason))); err != nil {
			r.t.Fatal(err)
		}
	}
	r.restart(a.Until)
	return a.Until - a.At
}

// described describes an incident in one line.
func described(x incident.Incident) string {
	end := ""
	if !x.End.IsZero() {
		end = x.End.Sub(storyBegin).String()
	}
	return fmt.Sprintf("%s %s %s from %s until %s %s down %q also %q nodes %q", x.ID, x.Subject, x.State, x.Start.Sub(storyBegin), end, x.Verdict, down(x), x.Also, x.Nodes)
}

// down returns the Services without an address.
func down(x incident.Incident) (names []string) {
	for _, s := range x.Services {
		if s.Down {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// sameAsTruth compares the incidents of a restarted kubeflap with those of one that was not restarted. Times and
// durations can differ by the time during which the restarted one was not running, which is the parameter away.
func (x *scenario) sameAsTruth(t *testing.T, at float64, away time.Duration, want, got []incident.Incident) {
	t.Helper()
	bad := twice(got)
	if len(got) != len(want) {
		bad = append(bad, "number")
	}
	for _, is := range want {
		i := slices.IndexFunc(got, func(y incident.Incident) bool { return y.ID == is.ID })
		if i < 0 {
			bad = append(bad, is.ID+" is missing")
			continue
		}
		for _, what := range differences(is, got[i], away+3*time.Second) {
			if what != x.unknown {
				bad = append(bad, what+" of "+is.ID)
			}
		}
	}
	if len(bad) == 0 {
		return
	}
	t.Errorf("at %g s, these differ: %s", at, strings.Join(bad, ", "))
	for name, all := range map[string][]incident.Incident{"want": want, "got": got} {
		for _, is := range all {
			t.Logf("%s %s | %s", name, described(is), is.Summary)
		}
	}
}

// twice returns a line for each ID that several incidents have.
func twice(all []incident.Incident) (bad []string) {
	seen := map[string]bool{}
	for _, x := range all {
		for _, id := range append(slices.Clone(x.Also), x.ID) {
			if seen[id] {
				bad = append(bad, id+" is listed twice")
			}
			seen[id] = true
		}
	}
	return bad
}

// differences returns what differs between two incidents. Durations and the time of the end differ only if they are
// more than the parameter most apart.
func differences(x, y incident.Incident, most time.Duration) (all []string) {
	apart := y.End.Sub(x.End.Time).Abs()
	sameState := x.End.IsZero() == y.End.IsZero() && ((x.State == incident.StateResolved) == (y.State == incident.StateResolved) || apart >= 2*time.Second)
	for what, same := range map[string]bool{
		"state": sameState, "start": y.Start.Equal(x.Start), "end": x.End.IsZero() || y.End.IsZero() || apart <= most,
		"verdict": y.Verdict == x.Verdict, "nodes": slices.Equal(x.Nodes, y.Nodes), "Services without an address": slices.Equal(down(x), down(y)),
		"cause": y.Cause == x.Cause, "lost addresses": y.Lost == x.Lost || x.Lost > y.Lost && y.Lost > 0,
		"outages": y.Outages == x.Outages, "outage time": time.Duration(y.OutageTime-x.OutageTime).Abs() <= most,
		"silence": time.Duration(x.Numbers.LongestInterval-y.Numbers.LongestInterval).Abs() < most+27*time.Second,
	} {
		if !same {
			all = append(all, what)
		}
	}
	return all
}

// sameEnds compares how often the ends of incidents were reported.
func sameEnds(t *testing.T, truth, r *restarted) {
	t.Helper()
	for _, x := range truth.incidents() {
		if want, got := truth.ends(x.ID), r.ends(x.ID); got != want {
			t.Errorf("the end of %s %s was reported %d times, want %d: %s", x.ID, x.Subject, got, want, r.notices())
		}
	}
}

// checkOrder checks that nothing ends before it starts.
func checkOrder(t *testing.T, all []incident.Incident) {
	t.Helper()
	for _, x := range all {
		if !x.End.IsZero() && x.End.Before(x.Start) {
			t.Errorf("%s ended %s before its start: %s", x.ID, x.Start.Sub(x.End.Time), x.Summary)
		}
		for _, s := range x.Timeline {
			if !s.End.IsZero() && s.End.Before(s.Start) {
				t.Errorf("%s %s ends at %s, before its start at %s", s.Track, s.Name, s.End.Sub(storyBegin), s.Start.Sub(storyBegin))
			}
		}
	}
}

// checkEnded checks that the incidents that had ended before the first restart are as they were.
func (r *restarted) checkEnded(before []incident.Incident) {
	r.t.Helper()
	for _, x := range before {
		y, ok := r.pipeline.cluster().Incident(x.ID)
		if x.State == incident.StateResolved && ok && (described(y) != described(x) || y.Summary != x.Summary || len(y.Evidence) != len(x.Evidence)) {
			r.t.Errorf("it was\n%s | %s\nit is\n%s | %s", described(x), x.Summary, described(y), y.Summary)
		}
	}
}

// checkRestarts checks that the first incident has its evidence from before the first restart, and that its timeline and
// the coverage show each restart, and how long it took.
func (x *scenario) checkRestarts(r *restarted, before incident.Incident) {
	r.t.Helper()
	after, _ := r.pipeline.cluster().Incident(before.ID)
	has := func(text string) bool {
		return slices.ContainsFunc(after.Evidence, func(e incident.Evidence) bool { return e.Text == text })
	}
	for _, e := range append(before.Evidence, incident.Evidence{Text: "kubeflap stopped watching"}) {
		if !has(e.Text) {
			r.t.Errorf("no evidence says %q: %v", e.Text, after.Evidence)
		}
	}
	blind := slices.DeleteFunc(after.Timeline, func(s incident.Span) bool { return s.Track != incident.TrackBlind })
	gaps := r.pipeline.cluster().Read().Coverage.Gaps
	for i, gap := range x.restarts {
		if len(blind) != len(x.restarts) || blind[i].Start.Sub(storyBegin) > seconds(gap.At) || (blind[i].End.Sub(blind[i].Start)-seconds(gap.Until-gap.At)).Abs() > time.Minute {
			r.t.Errorf("blind in %v, want in %v", blind, x.restarts)
		}
		if len(gaps) != len(x.restarts) || gaps[i].To.IsZero() || gaps[len(gaps)-1].Reason != event.ReasonNotRunning {
			r.t.Errorf("gaps %+v, want %v", gaps, x.restarts)
		}
	}
}

// opensAll checks that each ID that was reported opens an incident of the list.
func (r *restarted) opensAll() {
	r.t.Helper()
	shown := r.incidents()
	for _, n := range r.reported {
		x, ok := r.pipeline.cluster().Incident(n.Incident.ID)
		if !ok || !slices.ContainsFunc(shown, func(y incident.Incident) bool { return x.ID == y.ID }) {
			r.t.Errorf("%s opens %v %s, which is not in the list", n.Incident.ID, ok, x.ID)
		}
	}
}
