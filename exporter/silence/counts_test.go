package silence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

func known() *Store {
	h := &Store{}
	h.Learn(transition.GracePeriodKnown{Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second})
	return h
}

// silent adds a silence of node-1 that belongs to an incident.
func (h *Store) silent(from, to float64, of *Judgement) *Silence {
	s := &Silence{Node: "node-1", Began: at(from), Ended: at(to), Judgement: of}
	h.Add(s)
	return s
}

// text formats the counts, each with the end of its newest silence in seconds.
func (h *Store) text(now float64) string {
	var all []string
	for _, x := range h.Sums(at(now)) {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", x.Verdict, x.Reason))+fmt.Sprintf(" %d %g", x.Count, x.Last.Sub(zero).Seconds()))
	}
	return strings.Join(all, "; ")
}

func TestSilencesFollowTheVerdictOfTheirIncident(t *testing.T) {
	h, incident, all := known(), NewJudgement(verdict.Node), NewJudgement(verdict.Undecided)
	h.silent(0, 60, incident)
	h.silent(300, 500, incident)
	if got := h.text(600); got != "node slow 1 60; node down 1 500" {
		t.Errorf("%q", got)
	}
	incident.Merge(all)
	all.Revise(verdict.SharedPath)
	if got := h.text(600); got != "shared_path 2 500" {
		t.Errorf("as part of another incident: %q", got)
	}
}

func TestSilencesOfTheLastDayCount(t *testing.T) {
	h := known()
	for i := range 30 {
		h.silent(float64(3600*i), float64(3600*i+60), NewJudgement(verdict.SharedPath))
	}
	if got := h.text(29*3600 + 60); got != "shared_path 24 104460" {
		t.Errorf("after 30 hours: %q", got)
	}
	h.Sweep(at(40 * 3600))
	if got := h.text(40 * 3600); got != "shared_path 14 104460" || len(h.shown) > 0 {
		t.Errorf("ten hours later: %q, and %d classes are kept", got, len(h.shown))
	}
	h.silent(41*3600, 0, NewJudgement(verdict.Node)).Ended = time.Time{}
	h.Sweep(at(90 * 3600))
	if got := h.text(90 * 3600); got != "node down 1 324000" || len(h.shown) != 1 {
		t.Errorf("as long as a silence is ongoing: %q, and %d classes are kept", got, len(h.shown))
	}
}

// TestAnIntervalThatMayBeAReboot checks that a reboot does not increase the recommended grace period, even if a node
// that hangs after its reboot reports its new bootID late.
func TestAnIntervalThatMayBeAReboot(t *testing.T) {
	h, node := known(), NewJudgement(verdict.Node)
	for i, to := range []float64{94, 180} {
		h.silent([]float64{0, 130}[i], to, node)
		h.Arrived("node-1", at(to), time.Duration(to)*time.Second, 9)
	}
	h.NodeRebooted("node-1", time.Time{}, at(182))
	if got := h.Longest(at(600)); got != 0 {
		t.Errorf("%s", got)
	}
	h.silent(1000, 1050, node)
	h.Arrived("node-1", at(1050), 50*time.Second, 9)
	if got := h.Longest(at(1100)); got != 50*time.Second {
		t.Errorf("after a later interval: %s", got)
	}
}
