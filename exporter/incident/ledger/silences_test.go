package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

func known() *Heartbeats {
	h := &Heartbeats{}
	h.Learn(transition.GracePeriodKnown{Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second})
	return h
}

// silent adds a silence of node-1 that belongs to an incident.
func (h *Heartbeats) silent(from, to float64, of *verdict.Judgement) *verdict.Silence {
	s := &verdict.Silence{Node: "node-1", Began: at(from), Ended: at(to), Judgement: of}
	h.AddSilence(s)
	return s
}

// text formats the counts, each with the end of its newest silence in seconds.
func (h *Heartbeats) text(now float64) string {
	var all []string
	for _, x := range h.silences(at(now)) {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", x.Verdict, x.Reason))+fmt.Sprintf(" %d %g", x.Count, x.Last.Sub(zero).Seconds()))
	}
	return strings.Join(all, "; ")
}

func TestSilencesFollowTheVerdictOfTheirIncident(t *testing.T) {
	h, incident, all := known(), verdict.NewJudgement(verdict.Node), verdict.NewJudgement(verdict.Undecided)
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

func TestSilencesAreRememberedForAsLongAsTheNodeExists(t *testing.T) {
	h := known()
	for i := range 3 * maxRevisable {
		h.silent(float64(100*i), float64(100*i+60), verdict.NewJudgement(verdict.SharedPath))
	}
	for hour := range 100 * 24 {
		h.sweep(at(3600 * float64(hour)))
	}
	if got := h.text(1e7); got != "shared_path 30 2960" || len(h.nodes["node-1"].revisable) > 0 {
		t.Errorf("after 100 days: %q, and %d may be revised", got, len(h.nodes["node-1"].revisable))
	}
	h.NodeRemoved("node-1")
	if got := h.text(1e7); got != "" {
		t.Errorf("of a Node that was deleted: %q", got)
	}
}

func TestItDoesNotMatterWhenSomebodyAsks(t *testing.T) {
	h, incident := known(), verdict.NewJudgement(verdict.Node)
	h.silent(0, 60, incident)
	incident.Ask(verdict.Undecided)
	if got := h.text(100); got != "undecided 1 60" {
		t.Errorf("asked: %q", got)
	}
	h.sweep(at(7200))
	if got := h.text(7200); got != "node slow 1 60" {
		t.Errorf("two hours later: %q, want the verdict of the last review", got)
	}
}

// back records a late heartbeat that arrived within the grace period.
func (h *Heartbeats) back(node string, from, to float64, announced string) {
	h.BecameLate(node, at(from+20), announced)
	h.record(node, at(to), time.Duration((to-from)*float64(time.Second)), 9)
}

func TestLateHeartbeatsWithinTheGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(h *Heartbeats)
		want string
	}{
		{"of one node", func(h *Heartbeats) { h.back("node-1", 0, 25, "") }, "node late 1 25"},
		{"of three nodes together", func(h *Heartbeats) {
			h.back("node-1", 0, 25, "")
			h.back("node-2", 3, 26, "")
			h.back("node-3", 6, 27, "")
		}, "shared_path late 1 25; shared_path late 1 26; shared_path late 1 27"},
		{"announced", func(h *Heartbeats) { h.back("node-1", 0, 25, "a taint") }, ""},
		{"announced the time before", func(h *Heartbeats) { h.back("node-1", 0, 25, "a taint"); h.back("node-1", 300, 325, "") }, "node late 1 325"},
		{"with a reboot", func(h *Heartbeats) { h.NodeRebooted("node-1", at(25)); h.back("node-1", 0, 25, "") }, ""},
		{"with a reboot that is reported later", func(h *Heartbeats) { h.back("node-1", 0, 25, ""); h.NodeRebooted("node-1", at(28)) }, ""},
		{"and a reboot an hour later", func(h *Heartbeats) { h.back("node-1", 0, 25, ""); h.NodeRebooted("node-1", at(3600)) }, "node late 1 25"},
		{"with an upgrade", func(h *Heartbeats) { h.back("node-1", 0, 25, ""); h.KubeletUpgraded("node-1", at(26)) }, ""},
		{"with a clock that was set back", func(h *Heartbeats) { h.ClockSetBack("node-1", at(10), 15*time.Second); h.back("node-1", 0, 25, "") }, ""},
		{"long after a clock was set back", func(h *Heartbeats) { h.ClockSetBack("node-1", at(-10), 15*time.Second); h.back("node-1", 0, 25, "") }, "node late 1 25"},
		{"that could not be seen", func(h *Heartbeats) { h.record("node-1", at(25), 25*time.Second, 9) }, ""},
	} {
		h := known()
		c.do(h)
		f := &verdict.NodeLoss{Now: at(400), Nodes: 9, GracePeriod: h.Settings.Period, Interval: h.Undisturbed(), Rate: verdict.Rate{NodeTime: 9 * time.Hour}}
		h.judgeLate(f)
		if got := h.text(400); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAnIntervalThatMayBeAReboot checks that a reboot does not increase the recommended grace period, even if a node
// that hangs after its reboot reports its new bootID late.
func TestAnIntervalThatMayBeAReboot(t *testing.T) {
	h, node := known(), verdict.NewJudgement(verdict.Node)
	for i, to := range []float64{94, 180} {
		h.silent([]float64{0, 130}[i], to, node)
		h.record("node-1", at(to), time.Duration(to)*time.Second, 9)
	}
	h.NodeRebooted("node-1", at(182))
	if got := h.longestToBridge(at(600)); got != 0 {
		t.Errorf("%s", got)
	}
	h.silent(1000, 1050, node)
	h.record("node-1", at(1050), 50*time.Second, 9)
	if got := h.longestToBridge(at(1100)); got != 50*time.Second {
		t.Errorf("after a later interval: %s", got)
	}
}

func TestOnlyTheNodesOwnSilencesSpeakForALongerGracePeriod(t *testing.T) {
	for v, want := range map[verdict.Verdict]time.Duration{
		verdict.Node: 60 * time.Second, verdict.GracePeriod: 0, verdict.SharedPath: 0, verdict.ControllerManager: 0, verdict.Planned: 0, verdict.NodeRebooted: 0, verdict.Undecided: 0,
	} {
		h := known()
		h.silent(0, 60, verdict.NewJudgement(v))
		h.record("node-1", at(60), time.Minute, 9)
		if got := h.longestToBridge(at(600)); got != want {
			t.Errorf("%s: %s, want %s", v, got, want)
		}
	}
}
