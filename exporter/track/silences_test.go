package track

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// row returns the numbers of silences for grace periods of 20, 30, 40, 50, 60, 80, 100 and 120 s. It returns the numbers
// of addresses, too, if there are any.
func (s *story) row() string {
	var silences, addresses []string
	for _, r := range s.GraceTable(s.now).Rows {
		silences, addresses = append(silences, r.Silences.String()), append(addresses, r.Addresses.String())
	}
	if slices.Equal(addresses, []string{"0", "0", "0", "0", "0", "0", "0", "0"}) {
		return strings.Join(silences, " ")
	}
	return strings.Join(silences, " ") + " | " + strings.Join(addresses, " ")
}

// renews renews the Leases of the given nodes every 10 s, with an offset of a few seconds for each node.
func (s *story) renews(from, until int, nodes ...string) *story {
	for second := from; second <= until; second++ {
		for _, name := range nodes {
			if second%10 == int(name[0]-'a')+2 {
				s.at(float64(second)).modified(lease(name, float64(second)))
			}
		}
	}
	return s.at(float64(until))
}

// TestGracePeriods covers the silences that count. Nodes a, b and c send heartbeats at 9, 10 and 11 s. The grace period
// is 40 s, and the monitor period is assumed to be 5 s.
func TestGracePeriods(t *testing.T) {
	for name, c := range map[string]struct {
		how  func(*story)
		want string
	}{
		"nobody is silent": {func(s *story) { s.renews(12, 200, "a", "b", "c") }, "0 0 0 0 0 0 0 0"},
		"a silence of 26 s": {func(s *story) {
			s.renews(12, 34, "b", "c").at(35).modified(lease("a", 35))
		}, "1 0 0 0 0 0 0 0"},
		"a silence of 22 s, in which the controller may have acted": {func(s *story) {
			s.renews(12, 30, "b", "c").at(31).modified(lease("a", 31))
		}, "0-1 0 0 0 0 0 0 0"},
		"a silence of 19 s": {func(s *story) {
			s.renews(12, 27, "b", "c").at(28).modified(lease("a", 28))
		}, "0 0 0 0 0 0 0 0"},
		"two silences of one node": {func(s *story) {
			s.renews(12, 74, "b", "c").at(75).modified(lease("a", 75)).renews(76, 124, "b", "c").at(125).modified(lease("a", 125))
		}, "2 2 2 1-2 1 0 0 0"},
		"a status report ends a silence": {func(s *story) {
			n := aNode("a", ready, 0)
			n.Ready.LastHeartbeatTime = clock(28)
			s.renews(12, 28, "b", "c").modified(n).renews(29, 47, "b", "c").at(48).modified(lease("a", 48))
		}, "0-1 0 0 0 0 0 0 0"},
		"a clock that was set back: the controller ignores the heartbeats": {func(s *story) {
			s.renews(12, 20, "b", "c").at(20).modified(lease("a", -40)).renews(21, 60, "b", "c").modified(lease("a", 0)).at(67).modified(lease("a", 10))
		}, "1 1 1 1 0 0 0 0"},
		"an ongoing silence of 51 s": {func(s *story) { s.renews(12, 60, "b", "c") }, "1 1 0-1 0-1 0 0 0 0"},
		"a dead node":                {func(s *story) { s.renews(12, 600, "b", "c") }, "1 1 1 1 1 1 1 1"},
		"a dead node that the controller leaves Ready": {func(s *story) {
			s.renews(12, 600, "b", "c").watch(event.Bookmark, event.KindNode)
		}, "0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1"},
		"a dead node that turned Unknown": {func(s *story) {
			s.renews(12, 51, "b", "c").at(52).modified(unknownSince("a", 52)).renews(53, 600, "b", "c")
		}, "1 1 1 1 1 1 1 1"},
		"a silent Node that is deleted": {func(s *story) {
			s.renews(12, 51, "b", "c").at(52).modified(unknownSince("a", 52)).renews(53, 75, "b", "c").deleted(aNode("a", unknown, 52)).renews(76, 300, "b", "c")
		}, "1 1 1 1 0-1 0 0 0"},
		"all nodes are silent, so the controller may have stopped": {func(s *story) {
			s.at(45).modified(lease("a", 45), lease("b", 45), lease("c", 45))
		}, "0-3 0-3 0 0 0 0 0 0"},
		"two nodes are silent": {func(s *story) {
			s.renews(12, 44, "c").at(45).modified(lease("a", 45), lease("b", 45))
		}, "2 1-2 0 0 0 0 0 0"},
		"a node is silent for 30 s before and after all nodes are silent for 29 s": {func(s *story) {
			s.renews(12, 39, "b", "c").at(68).modified(lease("b", 68), lease("c", 68)).renews(69, 97, "b", "c").at(98).modified(lease("a", 98))
		}, "1-3 0-3 0-1 0-1 0-1 0-1 0 0"},
		"a new leader of the controller managers": {func(s *story) {
			s.lists(event.KindControlPlaneLease, leader("one", 11)).renews(12, 34, "b", "c").modified(leader("two", 34)).
				renews(35, 50, "b", "c").modified(leader("two", 50)).renews(51, 60, "b", "c").at(61).modified(leader("two", 61), lease("a", 61))
		}, "1 0-1 0-1 0-1 0 0 0 0"},
		"a node that was already Unknown": {func(s *story) {
			s.renews(12, 51, "b", "c").at(52).modified(unknownSince("a", 52)).renews(53, 59, "b", "c").at(60).modified(lease("a", 60)).
				renews(61, 99, "b", "c").at(100).modified(lease("a", 100))
		}, "1-2 1-2 1-2 0-1 0 0 0 0"},
		"a break of the watch in a silence": {func(s *story) {
			s.renews(12, 40, "b", "c").breaks(event.ReasonRefused, event.KindLease).at(43).watch(event.Up, event.KindLease).renews(43, 60, "b", "c").at(61).modified(lease("a", 61))
		}, "1 1 1 0-1 0 0 0 0"},
		"a break of the watch in which all nodes send heartbeats": {func(s *story) {
			s.renews(12, 40, "a", "b", "c").breaks(event.ReasonRefused, event.KindLease).at(300)
			s.lists(event.KindLease, lease("a", 298), lease("b", 297), lease("c", 296)).renews(301, 340, "a", "b", "c")
		}, "0 0 0 0 0 0 0 0"},
		"a silence that ends in a break of the watch": {func(s *story) {
			s.renews(12, 40, "b", "c").breaks(event.ReasonRefused, event.KindLease).at(100)
			s.lists(event.KindLease, lease("a", 98), lease("b", 97), lease("c", 96)).renews(101, 140, "a", "b", "c")
		}, "0-1 0-1 0-1 0-1 0-1 0-1 0 0"},
		"a silence that begins in a break of the watch": {func(s *story) {
			s.renews(12, 40, "a", "b", "c").breaks(event.ReasonRefused, event.KindLease).at(100)
			s.lists(event.KindLease, lease("a", 58), lease("b", 97), lease("c", 96)).renews(101, 139, "b", "c").at(140).modified(lease("a", 140))
		}, "1 1 0-1 0 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := threeNodes(t)
			c.how(s)
			equal(t, "silences", s.row(), c.want)
		})
	}
}

// TestGraceTableCoversADay checks that the table omits silences that ended more than 24 hours ago, and that it says so if
// there were too many silences.
func TestGraceTableCoversADay(t *testing.T) {
	const day = 24 * 3600
	s := newStory(t, grace40).starts(aNode("a", ready, 0), lease("a", 0))
	s.at(1).modified(lease("a", 1)).at(27).modified(lease("a", 27))
	equal(t, "at once: with one node, the API server may have stopped", s.row(), "0-1 0 0 0 0 0 0 0")
	equal(t, "since", s.GraceTable(s.now).Since, zero)
	s.at(day + 30).modified(lease("a", day+30))
	equal(t, "the next day, in the middle of a silence", s.at(day+30).GraceTable(s.now).Since, clock(30))
	equal(t, "the next day", strings.HasPrefix(s.row(), "0-1 "), true)
	begin := 2 * day
	for i := range 1500 {
		s.at(float64(begin + 26*i)).modified(lease("a", float64(begin+26*i)))
	}
	first := s.GraceTable(s.now).Rows[0].Silences
	equal(t, "of 1,500 silences in half a day", fmt.Sprint(first.AtMost), "1000")
	equal(t, "since the first one that is kept", s.GraceTable(s.now).Since, clock(float64(begin+26*(1499-999))))
}

// TestMonitorPeriodOfTheControllerManager checks that the table uses the flag of the kube-controller-manager.
func TestMonitorPeriodOfTheControllerManager(t *testing.T) {
	s := threeNodes(t)
	equal(t, "assumed", s.GraceTable(s.now).Rows[0].NoticedAfter, 25)
	manager := aPod("kube-controller-manager-1", ready)
	manager.Namespace, manager.ControllerManager = "kube-system", &event.ControllerManager{Flags: event.ControllerManagerFlags{MonitorPeriod: 3e9}}
	s.added(manager)
	equal(t, "3 s: the controller acts in its eighth pass at the latest", s.GraceTable(s.now).Rows[0].NoticedAfter, 24)
}
