// Package transition has the changes that the tracker reports: a small type for
// each kind, with its sentence. It decides nothing and keeps no state.
package transition

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// Transition is one change that the tracker found.
type Transition interface {
	// When is the time of the change, by kubeflap's clock.
	When() time.Time
	// Found is when the tracker found it, by kubeflap's clock. It is later than When if the cause had to wait for evidence.
	Found() time.Time
	// Fields returns the names for a structured log line.
	Fields() Fields
	// String is the change in one line, without its time.
	String() string
}

// Fields name what a transition is about. A field that does not apply is empty.
type Fields struct {
	Namespace, Service, Pod, Node string
	IP                            netip.Addr
	// Cause is Unknown where there is none, too.
	Cause cause.Cause
}

// At is the time of a transition.
type At struct {
	Time time.Time
	// Waited is how long its cause waited for evidence, 0 if it was found at once.
	Waited time.Duration
}

// When is the time of the change, by kubeflap's clock.
func (a At) When() time.Time { return a.Time }

// Found is when the tracker found the change, by kubeflap's clock.
func (a At) Found() time.Time { return a.Time.Add(max(a.Waited, 0)) }

// because is the cause as the end of a sentence.
func because(c cause.Cause) string {
	if c == cause.Unknown {
		return ""
	}
	return ": " + c.String()
}

// round leaves about three digits.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// List collects transitions in their order.
type List struct{ found []Transition }

// Add adds a transition.
func (l *List) Add(x Transition) { l.found = append(l.found, x) }

// AddInOrder adds transitions by time, and nodes at the same time by name.
func (l *List) AddInOrder(some []Transition) {
	slices.SortFunc(some, func(a, b Transition) int {
		return cmp.Or(a.When().Compare(b.When()), strings.Compare(a.Fields().Node, b.Fields().Node))
	})
	l.found = append(l.found, some...)
}

// Take returns the transitions that were added since the last call.
func (l *List) Take() []Transition {
	found := l.found
	l.found = nil
	return found
}
