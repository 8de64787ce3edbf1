// Package incident defines the incidents that kubeflap shows on its pages and in its log, the facts that kubeflap keeps of
// each, and all sentences about them.
package incident

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Scope is the part of the cluster that an incident concerns.
type Scope string

// The scopes.
const (
	// ScopeControlPlane is for problems that affect many nodes at once, and for wrong settings of the control plane.
	ScopeControlPlane Scope = "control_plane"
	ScopeNode         Scope = "node"
	ScopeWorkload     Scope = "workload"
	ScopeService      Scope = "service"
)

// HasNodes reports whether incidents of this scope are about nodes.
func (s Scope) HasNodes() bool { return s == ScopeControlPlane || s == ScopeNode }

// State is the progress of an incident.
type State string

// The states.
const (
	// StateOngoing means that a node, an address or a Service has not recovered.
	StateOngoing State = "ongoing"
	// StatePending means that no address is missing, but the endpoints controller will probably remove some addresses.
	StatePending State = "pending"
	// StateRecovered means that everything has recovered, but a new failure would still belong to this incident.
	StateRecovered State = "recovered"
	// StateResolved means that the incident is over: everything has stayed recovered, or newer incidents have displaced
	// this one.
	StateResolved State = "resolved"
)

// States returns all states.
func States() []State { return []State{StateOngoing, StatePending, StateRecovered, StateResolved} }

// String returns the state as all outputs have it.
func (s State) String() string { return string(s) }

// MaxNodes and MaxServices are the maximum lengths of an incident's lists of nodes and Services.
const (
	MaxNodes    = 100
	MaxServices = 50
)

// Incident is a copy of an incident at a point in time.
type Incident struct {
	// ID never changes. It is derived from the API write that started the incident. The field Also lists the IDs of
	// incidents that were merged into this one, and the IDs by which other replicas may show this one.
	ID   string
	Also []string
	// Start is the time at which the incident began. End is the time by which everything had recovered, or zero.
	Start, End time.Time
	State      State
	Cause      cause.Cause
	Scope      Scope
	// Subject is the name of the node, workload, Service or control-plane component. Namespace is empty if the subject
	// has no namespace.
	Namespace, Subject string
	// Nodes and Services list the affected nodes and Services. Both lists have a maximum length. NodesLeftOut and
	// ServicesLeftOut count the omitted items.
	Nodes           []string
	NodesLeftOut    int
	Services        []Service
	ServicesLeftOut int
	Counts
	Numbers Numbers
	// Decision holds the verdict and the hypotheses that were considered.
	verdict.Decision
	// Evidence is sorted by time. Evidence and Timeline have a maximum length. EvidenceLeftOut and SpansLeftOut count
	// the omitted items.
	Evidence        []Evidence
	EvidenceLeftOut int
	Timeline        []Span
	SpansLeftOut    int
	Summary, Remedy string
	// WaitsFor names what keeps the longest ongoing outage going. It is empty if that is unknown.
	WaitsFor string
	// Withdrawn is the reason why the incident was withdrawn, or empty if it was not.
	Withdrawn string
}

// Counts holds what an incident's nodes and Services have suffered.
type Counts struct {
	// Lost counts how often a Service lost a ready address. Bounces counts how often a lost address became ready again.
	// Outages counts the outages, and OutageTime is their total duration.
	Lost, Bounces, Outages int
	OutageTime             time.Duration
	// Turned is the number of times that a node's Ready condition became False or Unknown.
	Turned int
	// Evicted is the number of pods evicted from nodes that were not Ready.
	Evicted int
}

// Compare orders incidents for display: ongoing incidents first, then pending ones, then all others. Within each group,
// the newest come first. Like cmp.Compare, it returns -1, 0 or +1.
func Compare(a, b *Incident) int {
	return cmp.Or(cmp.Compare(a.State.Rank(), b.State.Rank()), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
}

// Rank returns the position of the state's incidents in a list.
func (s State) Rank() int {
	switch s {
	case StateOngoing:
		return 0
	case StatePending:
		return 1
	}
	return 2
}

// Lasted returns the duration of the incident. If the incident has no end, Lasted returns the time from its start to
// asOf.
func (x *Incident) Lasted(asOf time.Time) time.Duration {
	end := x.End
	if end.IsZero() {
		end = asOf
	}
	return max(end.Sub(x.Start), 0)
}

// Interrupt ends the incident for good, because kubeflap stopped watching at t. If something had not recovered, the end
// is unknown.
func (x *Incident) Interrupt(t time.Time) {
	recovered := x.State == StateRecovered || x.State == StateResolved
	if x.State = StateResolved; recovered {
		return
	}
	x.End = t
	x.Evidence = append(x.Evidence, Evidence{Time: t.UTC(), Until: t.UTC(), Count: 1, Text: "kubeflap stopped watching"})
	x.Summary += " kubeflap stopped watching during the incident, so its end is unknown."
}

// Resolution is the scope and final verdict of an incident that has ended for good.
type Resolution struct {
	Scope   Scope
	Verdict verdict.Verdict
}

// Displaced counts the incidents that were dropped from all lists to make room for newer ones.
type Displaced struct {
	Count int `json:"count"`
	// Until is the latest time at which one of the displaced incidents was ongoing. The lists contain all incidents
	// that began later.
	Until time.Time `json:"until"`
}

// Add combines d with the displaced incidents of another list.
func (d *Displaced) Add(other Displaced) {
	*d = Displaced{d.Count + other.Count, later(d.Until, other.Until)}
}

// Numbers holds the settings and measurements that an incident's texts may mention. A number that does not apply to the
// incident is 0.
type Numbers struct {
	GracePeriod time.Duration
	// LongestInterval is the longest time between two heartbeats. LongestAtLeast is set if the actual time may be
	// longer. This is the case if kubeflap's watch was broken when the heartbeats resumed.
	LongestInterval        time.Duration
	LongestAtLeast         bool
	RecommendedGracePeriod time.Duration
	// Windows counts the mistakes of simulated clients. Each of these clients uses a different batching window.
	Windows []advice.Window
}

// Service describes the effect of an incident on a Service.
type Service struct {
	Namespace, Name        string
	Lost, Bounces, Outages int
	// OutageTime is the time without any ready address, including the current outage.
	OutageTime time.Duration
	// AtLeast and AtMost are the limits of OutageTime if kubeflap did not see when an outage started or ended. Otherwise,
	// they equal OutageTime.
	AtLeast, AtMost time.Duration
	// Classes counts the outages by class. An ongoing one has the class that it began with.
	Classes [cause.NumClasses]int
	// Down reports whether the Service currently has no ready address. Wait is what it waits for.
	Down bool
	Wait transition.Wait
}

// take adds the effect of another incident on the Service.
func (s *Service) take(e *Service) {
	s.Lost, s.Bounces = s.Lost+e.Lost, s.Bounces+e.Bounces
	s.Wait = cmp.Or(s.Wait, e.Wait)
	s.Outages, s.OutageTime = s.Outages+e.Outages, s.OutageTime+e.OutageTime
	for class, n := range e.Classes {
		s.Classes[class] += n
	}
	s.AtLeast, s.AtMost = s.AtLeast+e.AtLeast, s.AtMost+e.AtMost
}

// Evidence is an observation that was made Count times between Time and Until, which are in UTC.
type Evidence struct {
	Time  time.Time `json:"time"`
	Until time.Time `json:"until"`
	Count int       `json:"count"`
	Text  string    `json:"text"`
}

// String describes the observation without its time.
func (e *Evidence) String() string {
	if lasted := e.Until.Sub(e.Time); lasted >= 100*time.Millisecond {
		return e.Text + ", within " + phrase.Duration(lasted)
	}
	return e.Text
}

// Notice reports that an incident started, changed or ended.
type Notice struct {
	Kind     NoticeKind
	Incident Incident
	// Into and IntoSubject are the ID and the subject of the incident into which this one was merged. They are empty
	// for other kinds of Notice.
	Into, IntoSubject string
}

// NoticeKind is the kind of change that a Notice reports.
type NoticeKind uint8

// The kinds of Notice.
const (
	// Started means that an incident has started.
	Started NoticeKind = iota + 1
	// Changed means that a pending incident is now running, that a node's incident is now one of several nodes, or that
	// another cause explains the incident better.
	Changed
	// Ended means that everything has recovered and the incident is over.
	Ended
	// Merged means that the incident is now part of another incident. Later notices are about that incident.
	Merged
	// Dropped means that kubeflap dropped the ongoing incident to make room for newer ones. Its end will not be
	// reported.
	Dropped
	// Ongoing means that the incident was still ongoing after the last transition, at the end of a recording.
	Ongoing
	// Continued means that the incident was ongoing before kubeflap restarted, and is still ongoing.
	Continued
)
