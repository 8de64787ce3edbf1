package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// restartStory is the part of a story in which one kubeflap is restarted and another one is not.
type restartStory struct {
	// restarts holds the second of each stop and of the start after it. If kill is set, each stop is a kill.
	restarts [][2]float64
	kill     bool
	// looks holds the seconds at which both must show the same incidents.
	looks []float64
	// size is the maximum number of incidents to keep. 0 means 500.
	size int
	// deletes is set if nodes are deleted. Then, the longest silence before the restart is not known.
	deletes bool
	// steady is set if the first incident does not change. Then, its timeline must show each restart.
	steady bool
}

// described describes an incident in one line.
func described(x incident.Incident) string {
	var down []string
	for _, s := range x.Services {
		if s.Down {
			down = append(down, s.Name)
		}
	}
	end := ""
	if !x.End.IsZero() {
		end = x.End.Sub(storyBegin).String()
	}
	return strings.Join([]string{
		x.ID, x.Subject, string(x.State), "from", x.Start.Sub(storyBegin).String(), "until", end, x.Verdict.String(), "down", strings.Join(down, ","),
		"also", strings.Join(x.Also, ","), "nodes", strings.Join(x.Nodes, ","),
	}, " ")
}

// sameAsTruth compares the incidents of a restarted kubeflap with those of one that was not restarted. Times and
// durations can differ by the time during which the restarted one was not running, which is the parameter away.
func sameAsTruth(t *testing.T, at float64, away time.Duration, want, got []incident.Incident) {
	t.Helper()
	var bad []string
	if len(got) != len(want) {
		bad = append(bad, "number")
	}
	seen := map[string]bool{}
	for _, x := range got {
		for _, id := range append(slices.Clone(x.Also), x.ID) {
			if seen[id] {
				bad = append(bad, id+" is listed twice")
			}
			seen[id] = true
		}
	}
	for _, x := range want {
		i := slices.IndexFunc(got, func(y incident.Incident) bool { return y.ID == x.ID })
		if i < 0 {
			bad = append(bad, x.ID+" is missing")
			continue
		}
		for _, what := range differences(x, got[i], away+3*time.Second) {
			bad = append(bad, what+" of "+x.ID)
		}
	}
	if len(bad) == 0 {
		return
	}
	t.Errorf("at %g s, these differ: %s", at, strings.Join(bad, ", "))
	for _, x := range want {
		t.Logf("want %s | %s", described(x), x.Summary)
	}
	for _, x := range got {
		t.Logf("got  %s | %s", described(x), x.Summary)
	}
}

// differences returns what differs between two incidents. Durations and the time of the end differ only if they are
// more than the parameter most apart.
func differences(x, y incident.Incident, most time.Duration) (all []string) {
	down := func(x incident.Incident) (names []string) {
		for _, s := range x.Services {
			if s.Down {
				names = append(names, s.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	apart := y.End.Sub(x.End).Abs()
	sameState := x.End.IsZero() == y.End.IsZero() && ((x.State == incident.StateEnded) == (y.State == incident.StateEnded) || apart >= 2*time.Second)
	for what, same := range map[string]bool{
		"state": sameState, "start": y.Start.Equal(x.Start), "end": x.End.IsZero() || y.End.IsZero() || apart <= most,
		"verdict": y.Verdict == x.Verdict, "nodes": slices.Equal(x.Nodes, y.Nodes), "Services without an address": slices.Equal(down(x), down(y)),
		"cause": y.Cause == x.Cause, "lost addresses": y.Lost == x.Lost || x.Lost > y.Lost && y.Lost > 0,
		"outages": y.Outages == x.Outages, "outage time": (y.OutageTime - x.OutageTime).Abs() <= most,
	} {
		if !same {
			all = append(all, what)
		}
	}
	return all
}

// run restarts one of two kubeflaps, and compares their incidents and the number of reported ends.
func (c *scenario) run(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	size := cmp.Or(c.size, 500)
	truth, r := sized(t, c.cluster(), size), sized(t, c.cluster(), size)
	away, next := time.Duration(0), 0
	for _, at := range c.looks {
		for ; next < len(c.restarts) && c.restarts[next][0] < at; next++ {
			from, to := c.restarts[next][0], c.restarts[next][1]
			r.runUntil(from)
			r.stops = !c.kill
			r.restart(to)
			away += time.Duration((to - from) * float64(time.Second))
		}
		truth.runUntil(at)
		r.runUntil(at)
		sameAsTruth(t, at, away, truth.incidents(), r.incidents())
		want, got := truth.longest(), r.longest()
		if !c.deletes && (got-want).Abs() > away+30*time.Second {
			t.Errorf("at %g s: silent for %s, want %s", at, got, want)
		}
	}
	sameEnds(t, truth, r)
	checkOrder(t, r.incidents())
	if c.steady {
		c.checkBlind(t, r.incidents()[0])
	}
	if c.size == 0 {
		r.opensAll()
	}
}

// checkBlind checks that the timeline of an incident shows each restart, and how long it took.
func (c *restartStory) checkBlind(t *testing.T, x incident.Incident) {
	t.Helper()
	var blind []incident.Span
	for _, s := range x.Timeline {
		if s.Track == incident.TrackBlind {
			blind = append(blind, s)
		}
	}
	for i, gap := range c.restarts {
		if len(blind) != len(c.restarts) || blind[i].Start.Sub(storyBegin) > seconds(gap[0]) || (blind[i].End.Sub(blind[i].Start)-seconds(gap[1]-gap[0])).Abs() > time.Minute {
			t.Errorf("blind in %v, want in %v", blind, c.restarts)
		}
	}
}

// longest returns the sum of the longest silences of all incidents.
func (r *restarted) longest() (sum time.Duration) {
	for _, x := range r.incidents() {
		sum += x.Numbers.LongestInterval
	}
	return sum
}

// opensAll checks that each ID that was reported opens an incident of the list.
func (r *restarted) opensAll() {
	r.t.Helper()
	shown := r.incidents()
	for _, n := range r.reported {
		x, ok := r.pipeline.cluster("").Incident(n.Incident.ID)
		if !ok || !slices.ContainsFunc(shown, func(y incident.Incident) bool { return x.ID == y.ID }) {
			r.t.Errorf("%s opens %v %s, which is not in the list", n.Incident.ID, ok, x.ID)
		}
	}
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
