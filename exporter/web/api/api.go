// Package api defines the JSON representation of incidents, for kubeflap and its clients. It prints the incidents of a
// response as a table, in full, as Markdown, or as JSON, and draws the timeline of an incident.
package api

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// Path is the URL path at which kubeflap serves an Answer. AdvicePath is the path of the report of `kubeflap advise`.
const (
	Path       = "/api/v1/incidents"
	AdvicePath = "/api/v1/advice"
)

// Answer is the response to a request for Path. Future versions may add fields, but will not remove fields or change
// their meaning.
type Answer struct {
	AsOf      time.Time  `json:"as_of"`
	Coverage  Coverage   `json:"coverage"`
	Incidents []Incident `json:"incidents"`
	// GracePeriods has an entry for each cluster.
	GracePeriods []controlplane.Table `json:"grace_periods"`
}

// Coverage describes when kubeflap watched the cluster. Incidents may be missing before Since, during a gap, and for
// each resource in NotWatched. They may also be missing before IncidentsDroppedUntil and before IncidentsLostUntil.
type Coverage struct {
	NotWatched []NotWatched `json:"not_watched"`
	// Since is the start of the coverage. kubeflap has been watching since then, except during the gaps. Started is the
	// start time of kubeflap's process. With several clusters, Since and Started are the latest of the clusters' times.
	// In a replay, Started is always null, and Since is null until the replay starts.
	Since   *time.Time `json:"since"`
	Started *time.Time `json:"started"`
	Gaps    []Gap      `json:"gaps"`
	// GapsLeftOut is the number of old gaps that were dropped.
	GapsLeftOut int `json:"gaps_left_out,omitempty"`
	// IncidentsDropped is the number of old incidents that were dropped, because kubeflap keeps only a limited number
	// of incidents. IncidentsDroppedUntil is the latest time at which one of them was known to be ongoing.
	IncidentsDropped      int        `json:"incidents_dropped,omitempty"`
	IncidentsDroppedUntil *time.Time `json:"incidents_dropped_until,omitempty"`
	// IncidentsLostUntil is the time until which incidents may be missing, because the file with the incidents of
	// earlier processes was damaged, deleted or unreadable. It is omitted if no incidents are missing.
	IncidentsLostUntil *time.Time `json:"incidents_lost_until,omitempty"`
	// Recorder describes the flight recorder. It is omitted if there is none.
	Recorder *Recorder `json:"recorder,omitempty"`
}

// Recorder describes whether events are recorded in the directory of --data.dir.
type Recorder struct {
	Recording bool `json:"recording"`
	// Since is the time at which Recording last changed, or null if it has never changed. Reason is empty while events
	// are recorded.
	Since  *time.Time `json:"since"`
	Reason string     `json:"reason,omitempty"`
	// Oldest is the time of the oldest recorded event, or null.
	Oldest *time.Time `json:"oldest"`
	// EventsLost is the number of unrecorded events since kubeflap started. Gaps is the number of periods with
	// unrecorded events.
	EventsLost uint64 `json:"events_lost"`
	Gaps       uint64 `json:"gaps"`
}

// Gap is a period in which resources were not watched. To is null while the gap is ongoing.
type Gap struct {
	Cluster   string     `json:"cluster,omitempty"`
	Resources []string   `json:"resources"`
	From      time.Time  `json:"from"`
	To        *time.Time `json:"to"`
	Reason    string     `json:"reason"`
	// MayMiss describes the changes that may be missing from the incidents because of the gap.
	MayMiss string `json:"may_miss"`
}

// NotWatched is a resource that is not watched. Since is null if the start is unknown.
type NotWatched struct {
	Cluster  string     `json:"cluster,omitempty"`
	Resource string     `json:"resource"`
	Since    *time.Time `json:"since"`
	Reason   string     `json:"reason"`
}

// Incident is the state of an incident at the time of the response.
type Incident struct {
	ID              string     `json:"id"`
	Also            []string   `json:"also,omitempty"`
	Cluster         string     `json:"cluster,omitempty"`
	State           string     `json:"state"`
	Start           time.Time  `json:"start"`
	End             *time.Time `json:"end"`
	DurationSeconds float64    `json:"duration_seconds"`
	Cause           string     `json:"cause"`
	Verdict         string     `json:"verdict"`
	// VerdictText is the verdict in plain words.
	VerdictText string       `json:"verdict_text"`
	Considered  []Hypothesis `json:"considered"`
	Withdrawn   string       `json:"withdrawn,omitempty"`
	Scope       string       `json:"scope"`
	Namespace   string       `json:"namespace,omitempty"`
	Subject     string       `json:"subject"`
	Summary     string       `json:"summary"`
	// FirstStep is the part of Remedy that says what to do first. Command is a command for it, or the one that can
	// decide an undecided verdict.
	FirstStep string `json:"first_step"`
	Command   string `json:"command,omitempty"`
	Remedy    string `json:"remedy"`
	// WaitsFor says what keeps the longest ongoing outage going.
	WaitsFor        string              `json:"waits_for,omitempty"`
	Nodes           []string            `json:"nodes"`
	NodesLeftOut    int                 `json:"nodes_left_out,omitempty"`
	NodeTransitions int                 `json:"node_transitions"`
	PodsEvicted     int                 `json:"pods_evicted"`
	Services        []Service           `json:"services"`
	ServicesLeftOut int                 `json:"services_left_out,omitempty"`
	AddressesLost   int                 `json:"addresses_lost"`
	AddressesBack   int                 `json:"addresses_back"`
	Outages         int                 `json:"outages"`
	OutageSeconds   float64             `json:"outage_seconds"`
	Numbers         Numbers             `json:"numbers"`
	Evidence        []incident.Evidence `json:"evidence"`
	EvidenceLeftOut int                 `json:"evidence_left_out,omitempty"`
	Timeline        []Span              `json:"timeline"`
	SpansLeftOut    int                 `json:"timeline_left_out,omitempty"`
}

// Hypothesis is a possible verdict that was considered. Holds is "yes", "no" or "unknown".
type Hypothesis struct {
	Verdict string `json:"verdict"`
	Holds   string `json:"holds"`
	Because string `json:"because"`
}

// Service describes an incident's effects on a Service. OutageAtLeast and OutageAtMost are the limits of OutageSeconds if
// a watch was broken at the start or end of an outage. Otherwise, they are omitted.
type Service struct {
	Namespace     string  `json:"namespace"`
	Service       string  `json:"service"`
	AddressesLost int     `json:"addresses_lost"`
	AddressesBack int     `json:"addresses_back"`
	Outages       int     `json:"outages"`
	OutageClass   string  `json:"outage_class,omitempty"`
	OutageSeconds float64 `json:"outage_seconds"`
	Down          bool    `json:"down"`
	OutageAtLeast float64 `json:"outage_seconds_at_least,omitempty"`
	OutageAtMost  float64 `json:"outage_seconds_at_most,omitempty"`
}

// Numbers holds the values on which the remedy is based. They come from the incident's cluster.
type Numbers struct {
	GracePeriod            float64  `json:"grace_period_seconds,omitempty"`
	LongestInterval        float64  `json:"longest_heartbeat_interval_seconds,omitempty"`
	LongestAtLeast         bool     `json:"longest_heartbeat_interval_at_least,omitempty"`
	RecommendedGracePeriod float64  `json:"recommended_grace_period_seconds,omitempty"`
	Windows                []Window `json:"consumer_windows,omitempty"`
}

// Window describes a hypothetical client that batches endpoint updates for the given number of seconds. Bounces is the
// number of addresses that the client would have restored and removed again.
type Window struct {
	Seconds float64 `json:"seconds"`
	Bounces int     `json:"bounces"`
	// StaleReadds is the number of addresses that the client would have restored although the container was being
	// replaced.
	StaleReadds int `json:"stale_readds"`
}

// Span is an interval of the timeline. End is null while the interval is ongoing.
type Span struct {
	Lane  string     `json:"lane"`
	Name  string     `json:"name"`
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end"`
}
