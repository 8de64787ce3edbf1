// Package incident defines the incidents that kubeflap shows on its pages and in its log, the facts that kubeflap keeps of
// each, and all sentences about them.
package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
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
	// StateResolved means that the incident is over: everything has stayed recovered.
	StateResolved State = "resolved"
	// StateWithdrawn means that the incident did not really happen: the heartbeats were on time, but the watch delivered
	// them late.
	StateWithdrawn State = "withdrawn"
)

// States returns all states.
func States() []State {
	return []State{StateOngoing, StatePending, StateRecovered, StateResolved, StateWithdrawn}
}

// String returns the state as all outputs have it.
func (s State) String() string { return string(s) }

// IsOpen reports whether something is broken, or about to be.
func (s State) IsOpen() bool { return s == StateOngoing || s == StatePending }

// IsFinal reports whether later failures belong to another incident.
func (s State) IsFinal() bool { return s == StateResolved || s == StateWithdrawn }

// isComplete reports whether nothing more is going to be known of the incident.
func (x *Incident) isComplete() bool { return x.State.IsFinal() || x.RecordingEnded }

// MaxNodes and MaxServices are the maximum lengths of an incident's lists of nodes and Services.
const (
	MaxNodes    = 100
	MaxServices = 50
)

// Incident is the state of an incident at a point in time. It is also the incident of the API document, which the page,
// the terminal and all other outputs print. Future versions may add fields to its JSON, but will not remove fields or
// change their meaning.
type Incident struct {
	// ID never changes. It is derived from the API write that started the incident. The field Also lists the IDs of
	// incidents that were merged into this one, and the IDs by which other replicas may show this one.
	ID   string   `json:"id"`
	Also []string `json:"also,omitempty"`
	// Cluster is empty if there is only one cluster.
	Cluster string `json:"cluster,omitempty"`
	State   State  `json:"state"`
	// RecordingEnded is set if the incident comes from a recording that has ended, so that nothing will change.
	RecordingEnded bool `json:"recording_ended,omitempty"`
	// Start is the time at which the incident began. LastFailure is the time of the newest failure. End is the time by
	// which everything had recovered, or zero. Duration ends at the current time if End is zero.
	Start       time.Time       `json:"start"`
	LastFailure time.Time       `json:"last_failure"`
	End         phrase.Time     `json:"end"`
	Duration    phrase.Seconds  `json:"duration_seconds"`
	Cause       cause.Cause     `json:"cause"`
	Verdict     verdict.Verdict `json:"verdict"`
	// VerdictText is the verdict in plain words. Considered holds the hypotheses that were considered.
	VerdictText string               `json:"verdict_text"`
	Considered  []verdict.Considered `json:"considered"`
	// Withdrawn is the reason why the incident was withdrawn, or empty if it was not.
	Withdrawn string `json:"withdrawn,omitempty"`
	Scope     Scope  `json:"scope"`
	// Subject is the name of the node, workload, Service or control-plane component. Namespace is empty if the subject
	// has no namespace.
	Namespace string `json:"namespace,omitempty"`
	Subject   string `json:"subject"`
	Summary   string `json:"summary"`
	// FirstStep is the part of Remedy that says what to do first. Command is a command for it, or the one that can
	// decide an undecided verdict.
	FirstStep string `json:"first_step"`
	Command   string `json:"command,omitempty"`
	Remedy    string `json:"remedy"`
	// WaitsFor names what keeps the longest ongoing outage going. It is empty if that is unknown.
	WaitsFor string `json:"waits_for,omitempty"`
	// Nodes and Services list the affected nodes and Services. All lists have a maximum length. NodesLeftOut,
	// ServicesLeftOut, EvidenceLeftOut and SpansLeftOut count the omitted items. Evidence is sorted by time.
	Nodes        []string `json:"nodes"`
	NodesLeftOut int      `json:"nodes_left_out,omitempty"`
	NodeCounts
	Services        []Service `json:"services"`
	ServicesLeftOut int       `json:"services_left_out,omitempty"`
	Counts
	Numbers         Numbers    `json:"numbers"`
	Evidence        []Evidence `json:"evidence"`
	EvidenceLeftOut int        `json:"evidence_left_out,omitempty"`
	Timeline        []Span     `json:"timeline"`
	SpansLeftOut    int        `json:"timeline_left_out,omitempty"`

	// See verdict.Decision.
	etcd bool
	// The field together is the number of nodes that were silent or late together.
	together int
}

// NodeCounts holds what happened to an incident's nodes.
type NodeCounts struct {
	// Turned is the number of times that a node's Ready condition became False or Unknown.
	Turned int `json:"node_transitions"`
	// Evicted is the number of pods evicted from nodes that were not Ready.
	Evicted int `json:"pods_evicted"`
}

// Counts holds what Services have suffered.
type Counts struct {
	// Lost counts how often a Service lost a ready address. Bounces counts how often a lost address became ready again.
	// Outages counts the outages, and OutageTime is their total duration, including the current outage.
	Lost       int            `json:"addresses_lost"`
	Bounces    int            `json:"addresses_back"`
	Outages    int            `json:"outages"`
	OutageTime phrase.Seconds `json:"outage_seconds"`
}

func (c *Counts) take(from Counts) {
	c.Lost, c.Bounces = c.Lost+from.Lost, c.Bounces+from.Bounces
	c.Outages, c.OutageTime = c.Outages+from.Outages, c.OutageTime+from.OutageTime
}

// Compare orders incidents for display: ongoing incidents first, then pending ones, then all others. Within each group,
// the newest come first. Like cmp.Compare, it returns -1, 0 or +1.
func Compare(a, b *Incident) int {
	return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
}

// rank returns the position of the state's incidents in a list.
func (s State) rank() int { return min(slices.Index(States(), s), 2) }

// SetEnd sets the end and the duration of the incident. The end is zero if the incident is ongoing.
func (x *Incident) SetEnd(end, now time.Time) {
	x.End = phrase.Time{Time: end}
	x.Duration = phrase.Seconds(max(cmp.Or(end, now).Sub(x.Start), 0))
}

// Interrupt ends the incident for good, because kubeflap stopped watching at t. If something had not recovered, the end
// is unknown.
func (x *Incident) Interrupt(t time.Time) {
	if !x.State.IsOpen() {
		if !x.State.IsFinal() {
			x.State = StateResolved
		}
		return
	}
	x.State = StateResolved
	x.SetEnd(t, t)
	x.Evidence = append(x.Evidence, Evidence{Time: t.UTC(), Until: t.UTC(), Count: 1, Text: "kubeflap stopped watching"})
	x.Summary += " kubeflap stopped watching during the incident, so its end is unknown."
}

// Resolution is the scope and final verdict of an incident that has ended for good.
type Resolution struct {
	Scope   Scope
	Verdict verdict.Verdict
}

// Displaced counts the incidents that were dropped from all lists, because kubeflap keeps only a limited number of
// incidents.
type Displaced struct {
	Dropped int `json:"incidents_dropped,omitempty"`
	// DroppedUntil is the latest time at which one of the displaced incidents was known to be ongoing. The lists contain
	// all incidents that began later.
	DroppedUntil phrase.Time `json:"incidents_dropped_until,omitzero"`
}

// Displace counts an incident that was ongoing until t.
func (d *Displaced) Displace(t time.Time) { d.Add(Displaced{1, phrase.Time{Time: t}}) }

// Add combines d with the displaced incidents of another list.
func (d *Displaced) Add(other Displaced) {
	d.Dropped += other.Dropped
	d.DroppedUntil.Time = Later(d.DroppedUntil.Time, other.DroppedUntil.Time)
}

// Numbers holds the settings and measurements on which an incident's remedy is based. A number that does not apply to
// the incident is 0.
type Numbers struct {
	GracePeriod phrase.Seconds `json:"grace_period_seconds,omitempty"`
	// LongestInterval is the longest time between two heartbeats. LongestAtLeast is set if the actual time may be
	// longer. This is the case if kubeflap's watch was broken when the heartbeats resumed.
	LongestInterval        phrase.Seconds `json:"longest_heartbeat_interval_seconds,omitempty"`
	LongestAtLeast         bool           `json:"longest_heartbeat_interval_at_least,omitempty"`
	RecommendedGracePeriod phrase.Seconds `json:"recommended_grace_period_seconds,omitempty"`
	// Windows counts the mistakes of simulated clients. Each of these clients uses a different batching window.
	Windows []advice.Window `json:"consumer_windows,omitempty"`
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
		return e.Text + ", all within " + phrase.Duration(lasted)
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

// String says what has happened to the incident, in the words of its state.
func (n *Notice) String() string {
	text := "incident " + n.Incident.State.String()
	switch n.Kind {
	case Merged:
		return fmt.Sprintf("incident merged: %s is part of the incident of the %s", n.Incident.What(), n.IntoSubject)
	case Ended, Ongoing:
		text += " " + n.Incident.Lasting()
	}
	return text
}

// IsLast reports whether no other notice about the incident follows.
func (n *Notice) IsLast() bool { return n.Kind == Ended || n.Kind == Ongoing }

// NoticeKind is the kind of change that a Notice reports.
type NoticeKind uint8

// The kinds of Notice.
const (
	// Started means that an incident has started.
	Started NoticeKind = iota + 1
	// Changed means that a pending or recovered incident is now ongoing, that a node's incident is now one of several nodes, or that
	// another cause explains the incident better.
	Changed
	// Ended means that everything has recovered and the incident is over.
	Ended
	// Merged means that the incident is now part of another incident. Later notices are about that incident.
	Merged
	// Ongoing means that the incident was still ongoing after the last transition, at the end of a recording.
	Ongoing
	// Revised means that the incident has another verdict than at its end.
	Revised
)
