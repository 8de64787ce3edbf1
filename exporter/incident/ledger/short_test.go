package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// back records a late heartbeat that arrived within the grace period.
func back(h *silence.Store, node string, from, to float64, announced string) {
	h.BecameLate(&silence.Silence{Node: node, Began: at(from), NodeFacts: transition.NodeFacts{Announced: announced}})
	arrive(h, node, from, to)
}

func arrive(h *silence.Store, node string, from, to float64) {
	h.Arrived(node, at(to), time.Duration((to-from)*float64(time.Second)), 9)
	h.NotLate(node)
}

func TestLateHeartbeatsWithinTheGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(h *silence.Store)
		want string
	}{
		{"of one node", func(h *silence.Store) { back(h, "node-1", 0, 25, "") }, "node late 1 25"},
		{"of three nodes together", func(h *silence.Store) {
			back(h, "node-1", 0, 25, "")
			back(h, "node-2", 3, 26, "")
			back(h, "node-3", 6, 27, "")
		}, "shared_path late 1 25; shared_path late 1 26; shared_path late 1 27"},
		{"announced", func(h *silence.Store) { back(h, "node-1", 0, 25, "a taint") }, ""},
		{"announced the time before", func(h *silence.Store) { back(h, "node-1", 0, 25, "a taint"); back(h, "node-1", 300, 325, "") }, "node late 1 325"},
		{"with a reboot", func(h *silence.Store) {
			h.BecameLate(&silence.Silence{Node: "node-1", Began: at(0)})
			h.NodeRebooted("node-1", time.Time{}, at(25))
			arrive(h, "node-1", 0, 25)
		}, ""},
		{"with a reboot that is reported later", func(h *silence.Store) { back(h, "node-1", 0, 25, ""); h.NodeRebooted("node-1", time.Time{}, at(28)) }, ""},
		{"and a reboot an hour later", func(h *silence.Store) { back(h, "node-1", 0, 25, ""); h.NodeRebooted("node-1", time.Time{}, at(3600)) }, "node late 1 25"},
		{"with an upgrade", func(h *silence.Store) { back(h, "node-1", 0, 25, ""); h.KubeletUpgraded("node-1", time.Time{}, at(26)) }, ""},
		{"with a clock that was set back", func(h *silence.Store) {
			h.BecameLate(&silence.Silence{Node: "node-1", Began: at(0)})
			h.ClockSetBack("node-1", 15*time.Second)
			arrive(h, "node-1", 0, 25)
		}, ""},
		{"that could not be seen", func(h *silence.Store) { h.Arrived("node-1", at(25), 25*time.Second, 9) }, ""},
	} {
		l := newLedger(10)
		l.Silences.Learn(transition.GracePeriodKnown{Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second})
		c.do(&l.Silences)
		l.now = at(400)
		l.Silences.Nodes = 9
		l.judgeShort(l.NodeLoss(nil, 9).Late)
		var all []string
		for _, x := range l.Silences.Sums(l.now) {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", x.Verdict, x.Reason))+fmt.Sprintf(" %d %g", x.Count, x.Last.Sub(zero).Seconds()))
		}
		if got := strings.Join(all, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
