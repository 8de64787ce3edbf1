package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
)

// Scope is what an incident is of.
type Scope string

// The scopes.
const (
	// ScopeControlPlane: many nodes at once, or a setting of the control plane.
	ScopeControlPlane Scope = "control_plane"
	ScopeNode         Scope = "node"
	ScopeWorkload     Scope = "workload"
	ScopeService      Scope = "service"
)

// State is how far an incident is.
type State string

// The states.
const (
	// StateRunning: something that it hit has not recovered.
	StateRunning State = "running"
	// StatePending: nothing is lost yet, but will be.
	StatePending State = "pending"
	// StateRecovered: everything has recovered, not long ago: it may flap again.
	StateRecovered State = "recovered"
	// StateEnded: everything has recovered and stayed so.
	StateEnded State = "ended"
)

// rank orders the states: what goes on comes first, what is over by its time.
func (s State) rank() int {
	switch s {
	case StateRunning:
		return 0
	case StatePending:
		return 1
	}
	return 2
}

// Incident is what belongs together, as of the time of the question.
type Incident struct {
	// ID is made from what the incident follows and the write that it began with; it never changes.
	// Also are those of incidents that turned out to be part of this one.
	ID   string
	Also []string
	// Start is when the harm began; End is when everything had recovered, zero while it has not.
	Start, End time.Time
	State      State
	Cause      cause.Cause
	Scope      Scope
	// Subject is the node, the workload or the Service; Namespace is empty where there is none.
	Namespace, Subject string
	// Nodes and Services are those that it hit, bounded; so many more are left out.
	Nodes           []string
	NodesLeftOut    int
	Services        []Service
	ServicesLeftOut int
	// Lost, Bounces and Outages count over all Services, OutageTime is the sum of theirs.
	Lost, Bounces, Outages int
	OutageTime             time.Duration
	// Turned is how often nodes turned not Ready or Unknown.
	Turned  int
	Numbers Numbers
	// Evidence is in the order of time, bounded.
	Evidence        []Evidence
	EvidenceLeftOut int
	Timeline        []Span
	SpansLeftOut    int
	Summary, Remedy string
}

// Numbers are those of this cluster that the remedy rests on; 0 where they play no part.
type Numbers struct {
	GracePeriod     time.Duration
	LongestInterval time.Duration
	// RecommendedGracePeriod comes from the longest interval seen.
	RecommendedGracePeriod time.Duration
	// Windows are the gathering windows that a consumer might have.
	Windows []advice.Window
}

// Service is what an incident did to a Service.
type Service struct {
	Namespace, Name        string
	Lost, Bounces, Outages int
	// OutageTime is the time without any ready address, the running outage included.
	OutageTime time.Duration
	// Down: it has no ready address now.
	Down bool
}

// Evidence is one thing that was seen, Count times between Time and Until.
type Evidence struct {
	Time, Until time.Time
	Count       int
	Text        string
}

// Span is a stretch of the timeline; End is zero while it lasts.
type Span struct {
	Lane       Lane
	Name       string
	Start, End time.Time
}

// Lane is what a Span shows.
type Lane string

// The lanes, in the order of the chain.
const (
	LaneHeartbeat Lane = "heartbeat"
	LaneNode      Lane = "node"
	LanePod       Lane = "pod"
	LaneAddress   Lane = "address"
	LaneOutage    Lane = "outage"
	LaneConflict  Lane = "conflict"
)
