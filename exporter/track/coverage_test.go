package track

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// coverageText formats a coverage, with times in seconds.
func coverageText(c watches.Coverage) string {
	seconds := func(t time.Time) string {
		if t.IsZero() {
			return "now"
		}
		return fmt.Sprintf("%g", t.Sub(zero).Seconds())
	}
	all := []string{"since " + seconds(c.Since)}
	for _, g := range c.Gaps {
		all = append(all, fmt.Sprintf("%s %s-%s %s", strings.Join(g.Resources, "+"), seconds(g.From), seconds(g.To), g.Reason))
	}
	return strings.Join(all, ", ")
}

func (s *story) covers(want string) *story {
	s.t.Helper()
	if got := coverageText(s.Coverage(s.now)); got != want {
		s.t.Errorf("got  %s\nwant %s", got, want)
	}
	return s
}

// begins starts a story whose process starts at zero.
func begins(t *testing.T) *story {
	s := newStory(t, grace40)
	s.Advance(s.now)
	return s
}

const everything = "nodes+leases+pods+services+endpointslices+endpoints"

func others() []event.Kind {
	return []event.Kind{event.KindNode, event.KindLease, event.KindService, event.KindEndpointSlice, event.KindEndpoints}
}

func (s *story) listsEmpty(kinds ...event.Kind) *story {
	for _, k := range kinds {
		s.lists(k)
	}
	return s
}

func TestTheCoverageBeginsWithTheFirstLists(t *testing.T) {
	s := begins(t).at(0.2).covers("since 0, " + everything + " 0-now not listed yet")
	s.at(4).listsEmpty(others()...).covers("since 4, pods 0-now not listed yet")
	s.at(9).lists(event.KindPod).covers("since 9")
	s.at(10).watch(event.Listing, event.KindControlPlaneLease).watch(event.Synced, event.KindControlPlaneLease)
	s.covers("since 9")
}

func TestNoGapBeforeTheFirstLists(t *testing.T) {
	for name, test := range map[string]struct {
		first, second float64 // the resources are listed at these times
		reason        event.Reason
		want          string
	}{
		"all at once":         {0.06, 0.06, "", "since 0.06"},
		"one after the other": {0.06, 4, "", "since 4"},
		"after a failure":     {0.06, 4, event.ReasonTimeout, "since 4"},
		"much later":          {0.06, 400, "", "since 0.06, pods 0-400 not listed yet"},
		"forbidden for long":  {0.06, 400, event.ReasonForbidden, "since 0.06, pods 0-400 forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begins(t)
			s.at(0.03).watch(event.Listing, event.Kinds()...).covers("since 0, " + everything + " 0-now not listed yet")
			s.at(test.first).listsEmpty(others()...)
			if test.reason != "" {
				s.breaks(test.reason, event.KindPod)
			}
			s.at(test.second).lists(event.KindPod).covers(test.want)
			s.at(500).breaks(event.ReasonForbidden, event.KindPod)
			s.at(502).covers(test.want + ", pods 500-now forbidden")
		})
	}
}

func TestAResourceThatIsListedMuchLaterHasAGap(t *testing.T) {
	s := begins(t)
	s.at(1).listsEmpty(others()...).at(2).unavailable(event.ReasonForbidden, event.KindPod)
	s.at(3).covers("since 1, pods 0-now forbidden")
	s.at(3600).lists(event.KindPod).covers("since 1, pods 0-3600 forbidden")
}

// TestAResourceThatTheClusterDoesNotHaveHasNoGap covers a resource that is absent until 100 s.
func TestAResourceThatTheClusterDoesNotHaveHasNoGap(t *testing.T) {
	s := begins(t)
	s.at(1).listsEmpty(others()...).at(2).unavailable(event.ReasonAbsent, event.KindPod)
	s.at(90).covers("since 2").at(500).lists(event.KindPod).covers("since 2")
	s = begins(t)
	s.at(1).listsEmpty(others()...).at(2).unavailable(event.ReasonAbsent, event.KindPod)
	s.at(100).unavailable(event.ReasonForbidden, event.KindPod).at(110).covers("since 2, pods 100-now forbidden")
}

// TestAProxyThatFindsNothing checks that a watched resource whose requests get status 404 has a gap like any other.
func TestAProxyThatFindsNothing(t *testing.T) {
	s := begins(t)
	s.at(1).starts().at(10).breaks(event.ReasonAbsent, event.KindPod)
	s.at(20).breaks(event.ReasonTimeout, event.KindPod).covers("since 1, pods 10-now absent")
	if n := len(s.Unready(s.now.Add(time.Minute))); n != 1 {
		t.Errorf("%d resources are unready", n)
	}
	s.at(90).watch(event.Up, event.KindPod).covers("since 1, pods 10-90 absent")
}

func TestBreaksOfWatches(t *testing.T) {
	s := begins(t)
	s.at(1).starts().at(10).breaks(event.ReasonTimeout, event.KindNode, event.KindLease)
	s.at(11).covers("since 1").at(12).covers("since 1, nodes+leases 10-now timeout")
	s.at(20).watch(event.Up, event.KindNode)
	s.at(21).watch(event.Up, event.KindLease)
	s.at(22).covers("since 1, nodes+leases 10-21 timeout")
	s.at(29.5).breaks(event.ReasonRefused, event.KindPod).at(31).watch(event.Up, event.KindPod)
	s.at(39.5).breaks(event.ReasonEnded, event.KindPod).at(41).watch(event.Up, event.KindPod)
	const before = "since 1, nodes+leases 10-21 timeout, pods 29.5-31 connection refused, pods 39.5-41 ended"
	s.covers(before)
	s.at(50).breaks(event.ReasonEnded, event.KindPod).at(50.9).watch(event.Up, event.KindPod)
	s.covers(before)
	// The normal end of a watch is not the reason why it is not opened again. Later failures may have other reasons.
	s.at(60).breaks(event.ReasonEnded, event.KindPod).breaks(event.ReasonRefused, event.KindPod).at(61).breaks(event.ReasonTimeout, event.KindPod)
	s.at(70).watch(event.Up, event.KindPod).covers(before + ", pods 60-70 connection refused")
}

func TestARestartIsAGap(t *testing.T) {
	s := begins(t)
	s.at(1).starts().at(90).breaks(event.ReasonTimeout, event.KindLease)
	s.at(110).breaks(event.ReasonNotRunning, event.Kinds()...)
	s.at(200).covers("since 1, leases 90-110 timeout, " + everything + " 110-now kubeflap was not running")
	s.at(202).breaks(event.ReasonForbidden, event.KindNode).listsEmpty(others()[1:]...)
	s.at(300).lists(event.KindPod).covers("since 1, leases 90-110 timeout, nodes+leases+services+endpointslices+endpoints 110-202 kubeflap was not running, " +
		"pods 110-300 kubeflap was not running, nodes 202-now forbidden")
}

// TestAResourceThatStaysForbidden covers a resource whose permission was withdrawn before a restart. The time before the
// restart and the restart itself do not count as blind.
func TestAResourceThatStaysForbidden(t *testing.T) {
	s := begins(t)
	s.at(1).listsEmpty(others()[1:]...).unavailable(event.ReasonForbidden, event.KindNode).lists(event.KindPod)
	s.at(10).breaks(event.ReasonForbidden, event.KindPod).at(70).unavailable(event.ReasonForbidden, event.KindPod)
	s.at(500).breaks(event.ReasonNotRunning, event.Kinds()...).StartCounting(s.now)
	s.at(600).unavailable(event.ReasonForbidden, event.KindPod).unavailable(event.ReasonForbidden, event.KindNode)
	equal(t, "blind", s.at(700).blind(event.KindPod), 0)
	s.covers("since 1, pods 10-500 forbidden, pods 500-600 kubeflap was not running, nodes 0-now forbidden, leases+services+endpointslices+endpoints 500-now kubeflap was not running, pods 600-now forbidden")
}

// TestALongRestartIsAGap covers a restart after which kubeflap keeps only the coverage.
func TestALongRestartIsAGap(t *testing.T) {
	earlier := begins(t)
	earlier.at(1).starts().at(90).breaks(event.ReasonTimeout, event.KindLease)
	s := newStory(t, grace40)
	s.Advance(clock(2000))
	past := earlier.Past(clock(110))
	past.Interrupt(clock(110))
	s.Restore(past, clock(110))
	s.at(2001).covers("since 1, leases 90-110 timeout, " + everything + " 110-now kubeflap was not running")
	s.at(2002).starts().covers("since 1, leases 90-110 timeout, " + everything + " 110-2002 kubeflap was not running")
}

func TestTheNumberOfGapsIsLimited(t *testing.T) {
	s := newStory(t, grace40).starts()
	for i := range 207 {
		s.at(float64(100*i+90)).breaks(event.ReasonTimeout, event.KindPod)
		s.at(float64(100*i+100)).watch(event.Up, event.KindPod)
	}
	c := s.Coverage(s.now)
	if len(c.Gaps) != 200 || c.LeftOut != 7 || !c.Gaps[0].To.Equal(clock(800)) {
		t.Errorf("%d gaps from %v, %d left out", len(c.Gaps), c.Gaps[0].To, c.LeftOut)
	}
}

// TestACoverageContinuesInASegment covers a segment of a flight recorder that begins while resources are not watched. The
// coverage is the same as without a restart.
func TestACoverageContinuesInASegment(t *testing.T) {
	failing := func(s *story) *story { return s.at(90).breaks(event.ReasonTimeout, event.KindNode, event.KindLease) }
	for name, test := range map[string]struct {
		before, segment, after func(*story) *story // what happens before 110 s, at 110 s, and from then on
		want                   string
	}{
		"every watch works": {
			func(s *story) *story { return s.at(1).starts() },
			func(s *story) *story { return s.starts() },
			func(s *story) *story { return s.at(120) }, "since 1",
		},
		"two watches are down": {
			func(s *story) *story { return failing(s.at(1).starts()) },
			func(s *story) *story { return s.starts().breaks(event.ReasonTimeout, event.KindNode, event.KindLease) },
			func(s *story) *story { return s.at(120).watch(event.Up, event.KindNode) }, "since 1, nodes 90-120 timeout, leases 90-now timeout",
		},
		"a resource was always forbidden": {
			func(s *story) *story {
				return s.at(1).listsEmpty(others()...).unavailable(event.ReasonForbidden, event.KindPod)
			},
			func(s *story) *story {
				return s.listsEmpty(others()...).unavailable(event.ReasonForbidden, event.KindPod)
			},
			func(s *story) *story { return s.at(600).lists(event.KindPod) }, "since 1, pods 0-600 forbidden",
		},
		"nothing is listed yet": {
			func(s *story) *story { return s.at(100) },
			func(s *story) *story { return s.watch(event.Listing, event.Kinds()...) },
			func(s *story) *story { return s.at(120).starts() }, "since 120",
		},
		"nothing is listed yet after a restart": {
			func(s *story) *story {
				return s.at(1).starts().at(80).breaks(event.ReasonNotRunning, event.Kinds()...)
			},
			func(s *story) *story { return s.watch(event.Listing, event.Kinds()...) },
			func(s *story) *story {
				return s.at(115).breaks(event.ReasonNotRunning, event.Kinds()...).at(120).starts()
			}, "since 1, " + everything + " 80-120 kubeflap was not running",
		},
		"nothing is listed between two restarts": {
			func(s *story) *story { return s.at(1).starts() },
			func(s *story) *story { return s.starts().breaks(event.ReasonNotRecorded, event.Kinds()...) },
			func(s *story) *story {
				return s.at(115).breaks(event.ReasonNotRunning, event.Kinds()...).at(120).starts()
			}, "since 1, " + everything + " 110-120 kubeflap was not running",
		},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := test.before(begins(t))
			s := newStory(t, grace40)
			s.Restore(earlier.Past(clock(110)), clock(110))
			test.after(test.segment(s.at(110))).covers(test.want)
		})
	}
}
