// Package transition defines the changes that the tracker reports. Each kind of change has a small type that describes
// the change in a sentence. The package contains no decisions and no state.
package transition

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// Transition is a change that the tracker found.
type Transition interface {
	// When returns the time of the change, by kubeflap's clock.
	When() time.Time
	// FoundAt returns the time at which the tracker found the change, by kubeflap's clock. It is later than the time of
	// the change if the tracker had to wait for evidence of the cause.
	FoundAt() time.Time
	// String describes the change in one line, without its time.
	String() string
}

// Fields holds the names of the objects that a transition concerns. A field that does not apply is empty.
type Fields struct {
	Namespace, Service, Pod, Node string
	IP                            netip.Addr
	// Cause is Unknown for a transition that has no cause.
	Cause cause.Cause
}

// FieldsOf returns the names of the objects that a transition concerns, for structured log lines. There are none if it
// concerns the whole cluster.
func FieldsOf(x Transition) (f Fields) {
	if of, ok := x.(interface{ Fields() Fields }); ok {
		f = of.Fields()
	}
	switch x := x.(type) {
	case AddressLost:
		f.Cause = x.Cause
	case PodReadyChanged:
		f.Cause = x.Cause
	case PodLossExplained:
		f.Cause = x.Cause
	case OutageStarted:
		f.Cause = x.Cause
	case OutageEnded:
		f.Cause = x.Cause
	}
	return f
}

// At is the time of a transition.
type At struct {
	Time time.Time
	// Waited is how long the tracker waited for evidence of the cause, or 0 if the cause was known immediately.
	Waited time.Duration
}

// When returns the time of the change, by kubeflap's clock.
func (a At) When() time.Time { return a.Time }

// FoundAt returns the time at which the tracker found the change, by kubeflap's clock.
func (a At) FoundAt() time.Time { return a.Time.Add(max(a.Waited, 0)) }

func causeSuffix(c cause.Cause) string {
	if c == cause.Unknown {
		return ""
	}
	return ": " + c.String()
}

// parenthesis adds what the API says.
func parenthesis(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// List collects transitions in the order in which they are added.
type List struct{ found []Transition }

// Add adds a transition.
func (l *List) Add(x Transition) { l.found = append(l.found, x) }

// AddInOrder sorts transitions by time, then by node name, and adds them. It sorts its argument in place.
func (l *List) AddInOrder(some []Transition) {
	slices.SortFunc(some, func(a, b Transition) int {
		return cmp.Or(a.When().Compare(b.When()), strings.Compare(FieldsOf(a).Node, FieldsOf(b).Node))
	})
	l.found = append(l.found, some...)
}

// Take returns the transitions added since the last call.
func (l *List) Take() []Transition {
	found := l.found
	l.found = nil
	return found
}
