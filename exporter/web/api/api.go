// Package api has the JSON of the incidents, for the program that writes it and for those that read it.
package api

import (
	"time"
)

// Path is where a kubeflap serves an Answer.
const Path = "/api/v1/incidents"

// Answer is the answer to a request for Path. Fields may be added. None is removed or changes its meaning.
type Answer struct {
	AsOf      time.Time  `json:"as_of"`
	Coverage  Coverage   `json:"coverage"`
	Incidents []Incident `json:"incidents"`
}

// Coverage names what is not watched: an empty list of incidents may mean that kubeflap could not see them.
type Coverage struct {
	NotWatched []NotWatched `json:"not_watched"`
}

// NotWatched is a resource that is not watched. Since is null if it is not known since when.
type NotWatched struct {
	Cluster  string     `json:"cluster,omitempty"`
	Resource string     `json:"resource"`
	Since    *time.Time `json:"since"`
	Reason   string     `json:"reason"`
}

// Incident is an incident as of the time of the answer.
type Incident struct {
	ID              string       `json:"id"`
	Also            []string     `json:"also,omitempty"`
	Cluster         string       `json:"cluster,omitempty"`
	State           string       `json:"state"`
	Start           time.Time    `json:"start"`
	End             *time.Time   `json:"end"`
	DurationSeconds float64      `json:"duration_seconds"`
	Cause           string       `json:"cause"`
	Verdict         string       `json:"verdict"`
	Considered      []Hypothesis `json:"considered"`
	Command         string       `json:"command,omitempty"`
	Withdrawn       string       `json:"withdrawn,omitempty"`
	Scope           string       `json:"scope"`
	Namespace       string       `json:"namespace,omitempty"`
	Subject         string       `json:"subject"`
	Summary         string       `json:"summary"`
	Remedy          string       `json:"remedy"`
	Nodes           []string     `json:"nodes"`
	NodesLeftOut    int          `json:"nodes_left_out,omitempty"`
	NodeTransitions int          `json:"node_transitions"`
	PodsEvicted     int          `json:"pods_evicted"`
	Services        []Service    `json:"services"`
	ServicesLeftOut int          `json:"services_left_out,omitempty"`
	AddressesLost   int          `json:"addresses_lost"`
	AddressesBack   int          `json:"addresses_back"`
	Outages         int          `json:"outages"`
	OutageSeconds   float64      `json:"outage_seconds"`
	Numbers         Numbers      `json:"numbers"`
	Evidence        []Evidence   `json:"evidence"`
	EvidenceLeftOut int          `json:"evidence_left_out,omitempty"`
	Timeline        []Span       `json:"timeline"`
	SpansLeftOut    int          `json:"timeline_left_out,omitempty"`
}

// Hypothesis was weighed for the verdict. Holds is yes, no or unknown.
type Hypothesis struct {
	Verdict string `json:"verdict"`
	Holds   string `json:"holds"`
	Because string `json:"because"`
}

// Service is what an incident did to a Service.
type Service struct {
	Namespace     string  `json:"namespace"`
	Service       string  `json:"service"`
	AddressesLost int     `json:"addresses_lost"`
	AddressesBack int     `json:"addresses_back"`
	Outages       int     `json:"outages"`
	OutageSeconds float64 `json:"outage_seconds"`
	Down          bool    `json:"down"`
}

// Numbers are those of this cluster that the remedy depends on.
type Numbers struct {
	GracePeriod            float64  `json:"grace_period_seconds,omitempty"`
	LongestInterval        float64  `json:"longest_heartbeat_interval_seconds,omitempty"`
	RecommendedGracePeriod float64  `json:"recommended_grace_period_seconds,omitempty"`
	Windows                []Window `json:"consumer_windows,omitempty"`
}

// Window is what clients that batch endpoint updates for so many seconds would have done.
type Window struct {
	Seconds float64 `json:"seconds"`
	Bounces int     `json:"bounces"`
	// StaleReadds are addresses that were put back although their container was being replaced.
	StaleReadds int `json:"stale_readds"`
}

// Evidence is something that was seen Count times between Time and Until.
type Evidence struct {
	Time  time.Time `json:"time"`
	Until time.Time `json:"until"`
	Count int       `json:"count"`
	Text  string    `json:"text"`
}

// Span is an interval of the timeline. End is null while it lasts.
type Span struct {
	Lane  string     `json:"lane"`
	Name  string     `json:"name"`
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end"`
}
