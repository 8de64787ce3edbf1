package coverage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

func unlisted(kinds ...event.Kind) (all []watches.Watch) {
	for _, k := range kinds {
		all = append(all, watches.Watch{Resource: k})
	}
	return all
}

func broken(since float64, reason event.Reason, kinds ...event.Kind) (all []watches.Watch) {
	for _, k := range kinds {
		all = append(all, watches.Watch{Resource: k, Synced: true, Since: clock(since), Reason: reason})
	}
	return all
}

func works(second, blind float64, k event.Kind) transition.WatchWorks {
	return transition.WatchWorks{At: transition.At{Time: clock(second)}, Resource: k, Blind: time.Duration(blind * float64(time.Second))}
}

// text formats a state, with times in seconds.
func text(s State) string {
	seconds := func(t time.Time) string {
		if t.IsZero() {
			return "now"
		}
		return fmt.Sprintf("%g", t.Sub(zero).Seconds())
	}
	all := []string{"since " + seconds(s.Since)}
	for _, g := range s.Gaps {
		all = append(all, fmt.Sprintf("%s %s-%s %s", strings.Join(g.Resources, "+"), seconds(g.From), seconds(g.To), g.Reason))
	}
	return strings.Join(all, ", ")
}

func check(t *testing.T, l *Log, want string) {
	t.Helper()
	if got := text(l.Now()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// listed returns a Log whose first lists were complete after one second.
func listed() *Log {
	l := New(clock(0))
	l.Update(clock(0), unlisted(event.Kinds()...))
	l.Update(clock(1), nil)
	return l
}

func TestTheCoverageBeginsWithTheFirstLists(t *testing.T) {
	l := New(clock(0))
	l.Update(clock(0.2), unlisted(event.Kinds()...))
	check(t, l, "since 0, nodes+leases+pods+services+endpointslices+endpoints 0-now not listed yet")
	l.Update(clock(4), unlisted(event.KindPod))
	check(t, l, "since 4, pods 0-now not listed yet")
	l.Update(clock(9), nil)
	check(t, l, "since 9")
}

// TestNoGapBeforeTheFirstLists checks that the time between the start of the process and its first event does not
// matter: before the first list of a resource, watches.Watch has the time of the first event.
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
			l := New(clock(0))
			l.Update(clock(0.03), broken(0.03, "", event.Kinds()...))
			check(t, l, "since 0, nodes+leases+pods+services+endpointslices+endpoints 0-now not listed yet")
			l.Update(clock(test.first), broken(0.03, test.reason, event.KindPod))
			l.Update(clock(test.second), nil)
			check(t, l, test.want)
			l.Update(clock(502), broken(500, event.ReasonForbidden, event.KindPod))
			check(t, l, test.want+", pods 500-now forbidden")
		})
	}
}

func TestAResourceThatIsListedMuchLaterHasAGap(t *testing.T) {
	l := New(clock(0))
	l.Update(clock(0), unlisted(event.Kinds()...))
	l.Update(clock(1), unlisted(event.KindPod))
	l.Update(clock(2), broken(0, event.ReasonForbidden, event.KindPod))
	l.Update(clock(3600), nil)
	check(t, l, "since 1, pods 0-3600 forbidden")
}

func TestBreaksOfWatches(t *testing.T) {
	l := listed()
	l.Update(clock(12), broken(10, event.ReasonTimeout, event.KindNode, event.KindLease))
	check(t, l, "since 1, nodes+leases 10-now timeout")
	l.Observe(works(20, 10, event.KindNode))
	l.Observe(works(21, 11, event.KindLease))
	l.Update(clock(22), nil)
	check(t, l, "since 1, nodes+leases 10-21 timeout")
	// The watch breaks between two calls of Update.
	l.Observe(transition.WatchBroke{Resource: event.KindPod, Reason: event.ReasonRefused})
	l.Observe(works(31, 1.5, event.KindPod))
	l.Observe(works(41, 1.5, event.KindPod))
	check(t, l, "since 1, nodes+leases 10-21 timeout, pods 29.5-31 connection refused, pods 39.5-41 ended")
}

func TestARestartIsAGap(t *testing.T) {
	l := listed()
	l.Update(clock(100), broken(90, event.ReasonTimeout, event.KindLease))
	l.Restarted(clock(110), clock(200))
	check(t, l, "since 1, leases 90-110 timeout, nodes+leases+pods+services+endpointslices+endpoints 110-now kubeflap was not running")
	l.Update(clock(200), broken(110, event.ReasonNotRunning, event.Kinds()...))
	l.Update(clock(202), append(broken(110, event.ReasonNotRunning, event.KindPod), broken(200, event.ReasonForbidden, event.KindNode)...))
	l.Observe(works(300, 190, event.KindPod))
	l.Update(clock(300), broken(200, event.ReasonForbidden, event.KindNode))
	check(t, l, "since 1, leases 90-110 timeout, nodes+leases+services+endpointslices+endpoints 110-202 kubeflap was not running, "+
		"pods 110-300 kubeflap was not running, nodes 202-now forbidden")
	if s := l.Now(); !s.Started.Equal(clock(200)) {
		t.Errorf("started %v", s.Started)
	}
}

func TestTheNumberOfGapsIsLimited(t *testing.T) {
	l := listed()
	for i := range maxGaps + 7 {
		l.Observe(works(float64(100*i+100), 10, event.KindPod))
	}
	s := l.Now()
	if len(s.Gaps) != maxGaps || s.LeftOut != 7 || !s.Gaps[0].To.Equal(clock(800)) {
		t.Errorf("%d gaps from %v, %d left out", len(s.Gaps), s.Gaps[0].To, s.LeftOut)
	}
}

func TestWithin(t *testing.T) {
	s := State{Gaps: []Gap{{From: clock(10), To: clock(20)}, {From: clock(30)}}}
	for _, test := range []struct {
		from, to time.Time
		want     int
	}{{time.Time{}, time.Time{}, 2}, {clock(21), time.Time{}, 1}, {time.Time{}, clock(5), 0}, {clock(15), clock(16), 1}, {clock(40), clock(50), 1}} {
		if got := len(s.Within(test.from, test.to)); got != test.want {
			t.Errorf("from %v to %v: %d gaps, want %d", test.from, test.to, got, test.want)
		}
	}
}

// TestMissed checks that each watched resource has a description of the missed changes.
func TestMissed(t *testing.T) {
	for _, k := range event.Kinds() {
		if g := (Gap{Resources: []string{k.String()}}); g.Missed() == k.String() || g.Missed() == "" {
			t.Errorf("%s: %q", k, g.Missed())
		}
	}
}
