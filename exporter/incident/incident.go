// Package incident has the types of an incident, as the pages and the log read them.
package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Scope is the kind of thing that an incident is about.
type Scope string

// The scopes.
const (
	// ScopeControlPlane: many nodes at once, or a setting of the control plane.
	ScopeControlPlane Scope = "control_plane"
	ScopeNode         Scope = "node"
	ScopeWorkload     Scope = "workload"
	ScopeService      Scope = "service"
)

// State is the progress of an incident.
type State string

// The states.
const (
	// StateRunning: some node, address or Service has not recovered.
	StateRunning State = "running"
	// StatePending: nothing is lost yet, but will be.
	StatePending State = "pending"
	// StateRecovered: everything has recovered, but only a short time ago. It may flap again.
	StateRecovered State = "recovered"
	// StateEnded: everything has recovered and stayed so.
	StateEnded State = "ended"
)

// Incident is a copy of an incident at one time.
type Incident struct {
	// ID is made from the subject and the write in the cluster that the incident began with. It never changes.
	// Also has the IDs of incidents that turned out to be part of this one.
	ID   string
	Also []string
	// Start is when the harm began; End is when everything had recovered, zero while it has not.
	Start, End time.Time
	State      State
	Cause      cause.Cause
	Scope      Scope
	// Subject is the node, the workload or the Service; Namespace is empty if it has none.
	Namespace, Subject string
	// Nodes and Services are those that the incident hit. Both lists are bounded, and the numbers count the rest.
	Nodes           []string
	NodesLeftOut    int
	Services        []Service
	ServicesLeftOut int
	// Lost, Bounces and Outages count over all Services, OutageTime is the sum of their outages.
	Lost, Bounces, Outages int
	OutageTime             time.Duration
	// Turned is how often nodes turned not Ready or Unknown.
	Turned int
	// Evicted is how many pods were evicted from nodes that were not Ready.
	Evicted int
	Numbers Numbers
	// Decision is who has to fix it.
	verdict.Decision
	// Evidence is sorted by time and bounded, like Timeline.
	Evidence        []Evidence
	EvidenceLeftOut int
	Timeline        []Span
	SpansLeftOut    int
	Summary, Remedy string
	// Withdrawn says why it was no incident after all; empty if it is one.
	Withdrawn string
}

// Lasted is how long the incident lasted, or has lasted at a time.
func (x *Incident) Lasted(asOf time.Time) time.Duration {
	end := x.End
	if end.IsZero() {
		end = asOf
	}
	return max(end.Sub(x.Start), 0)
}

// Standing is what readers of metrics need of an incident.
type Standing struct {
	// These are as in Incident.
	ID                 string
	Start, End         time.Time
	Cause              cause.Cause
	Namespace, Subject string
	Scope              Scope
	Verdict            verdict.Verdict
	// Ongoing: the incident has not ended.
	Ongoing bool
	// Nodes are those of an incident of nodes. Services are those that lost addresses.
	Nodes    []string
	Services []transition.Service
}

// Resolution counts the incidents that have ended for good.
type Resolution struct {
	Scope   Scope
	Verdict verdict.Verdict
}

// Silences counts the silences of a node with one verdict and reason.
type Silences struct {
	Node    string
	Verdict verdict.Verdict
	Reason  verdict.Reason
	Count   uint64
	// Last is when the newest ended, or now while it lasts.
	Last time.Time
}

// Numbers are those of this cluster that the remedy depends on; 0 if they do not matter.
type Numbers struct {
	GracePeriod time.Duration
	// LongestInterval is the longest time between two heartbeats.
	LongestInterval        time.Duration
	RecommendedGracePeriod time.Duration
	// Windows are the bounces and stale re-adds of consumers, by how long they batch endpoint updates.
	Windows []advice.Window
}

// Service is what an incident did to a Service.
type Service struct {
	Namespace, Name        string
	Lost, Bounces, Outages int
	// OutageTime is the time without any ready address, including the current outage.
	OutageTime time.Duration
	// Inexact: a watch was broken when an outage began or ended, so OutageTime is more or less than that.
	Inexact bool
	// Down: it has no ready address now.
	Down bool
}

// Evidence is something that was seen Count times between Time and Until.
type Evidence struct {
	Time, Until time.Time
	Count       int
	Text        string
}

// Span is an interval of the timeline; End is zero while it lasts.
type Span struct {
	Track      Track
	Name       string
	Start, End time.Time
}

// Track is what a Span shows.
type Track string

// The tracks.
const (
	TrackHeartbeat Track = "heartbeat"
	TrackNode      Track = "node"
	TrackPod       Track = "pod"
	TrackConflict  Track = "conflict"
	TrackForeign   Track = "foreign"
	TrackAddress   Track = "address"
	TrackOutage    Track = "outage"
)

// Tracks lists the tracks in the order in which one follows from the other.
func Tracks() []Track {
	return []Track{TrackHeartbeat, TrackNode, TrackPod, TrackConflict, TrackForeign, TrackAddress, TrackOutage}
}

// Notice reports an incident that began, changed or ended.
type Notice struct {
	Kind     NoticeKind
	Incident Incident
	// Into is the ID of the incident that this one was merged into.
	Into string
}

// NoticeKind is what happened to an incident.
type NoticeKind uint8

// The kinds of Notice.
const (
	// Started: an incident has begun.
	Started NoticeKind = iota + 1
	// Changed: the losses that were pending have happened.
	Changed
	// Ended: everything has recovered and stayed so.
	Ended
	// Merged: it turned out to be part of another incident, which is reported instead.
	Merged
	// Dropped: it is ongoing, but newer incidents have taken its place. Its end will not be reported.
	Dropped
	// Ongoing: no more transitions will come, and it has not ended.
	Ongoing
)
