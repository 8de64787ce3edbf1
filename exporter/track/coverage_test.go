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
	s.Restore(past, clock(110))
	const others = "nodes+pods+services+endpointslices+endpoints"
	s.at(2001).covers("since 1, " + others + " 110-now kubeflap was not running, leases 90-now timeout")
	s.at(2002).starts().covers("since 1, " + others + " 110-2002 kubeflap was not running, leases 90-2002 timeout")
}

func TestTheNumberOfGapsIsLimited(t *testing.T) {
	s := newStory(t, grace40).starts()
	for i := range 207 {
		s.at(float64(100*i+90)).breaks(event.ReasonTimeout, event.KindPod)
		s.at(float64(100*i+100)).watch(event.Up, event.KindPod)
	}
	equal(t, "blind", s.blind(event.KindPod), 2070)
	c := s.Coverage(s.now)
	if len(c.Gaps) != 200 || !c.Since.Equal(clock(700)) || !c.Gaps[0].To.Equal(clock(800)) {
		t.Errorf("since %v, %d gaps from %v", c.Since, len(c.Gaps), c.Gaps[0].To)
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
