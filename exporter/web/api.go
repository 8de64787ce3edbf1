package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// apiAnswer is the answer of /api/v1/incidents. Fields may be added. None is removed or changes its meaning.
type apiAnswer struct {
	AsOf      time.Time     `json:"as_of"`
	Coverage  apiCoverage   `json:"coverage"`
	Incidents []apiIncident `json:"incidents"`
}

// apiCoverage names what is not watched: an empty list of incidents may mean that kubeflap could not see them.
type apiCoverage struct {
	NotWatched []apiNotWatched `json:"not_watched"`
}

type apiNotWatched struct {
	Cluster  string     `json:"cluster,omitempty"`
	Resource string     `json:"resource"`
	Since    *time.Time `json:"since"`
	Reason   string     `json:"reason"`
}

type apiIncident struct {
	ID              string        `json:"id"`
	Also            []string      `json:"also,omitempty"`
	Cluster         string        `json:"cluster,omitempty"`
	State           string        `json:"state"`
	Start           time.Time     `json:"start"`
	End             *time.Time    `json:"end"`
	DurationSeconds float64       `json:"duration_seconds"`
	Cause           string        `json:"cause"`
	Verdict         string        `json:"verdict"`
	Considered      []apiAnswered `json:"considered"`
	Command         string        `json:"command,omitempty"`
	Withdrawn       string        `json:"withdrawn,omitempty"`
	Scope           string        `json:"scope"`
	Namespace       string        `json:"namespace,omitempty"`
	Subject         string        `json:"subject"`
	Summary         string        `json:"summary"`
	Remedy          string        `json:"remedy"`
	Nodes           []string      `json:"nodes"`
	NodesLeftOut    int           `json:"nodes_left_out,omitempty"`
	NodeTransitions int           `json:"node_transitions"`
	PodsEvicted     int           `json:"pods_evicted"`
	Services        []apiService  `json:"services"`
	ServicesLeftOut int           `json:"services_left_out,omitempty"`
	AddressesLost   int           `json:"addresses_lost"`
	AddressesBack   int           `json:"addresses_back"`
	Outages         int           `json:"outages"`
	OutageSeconds   float64       `json:"outage_seconds"`
	Numbers         apiNumbers    `json:"numbers"`
	Evidence        []apiEvidence `json:"evidence"`
	EvidenceLeftOut int           `json:"evidence_left_out,omitempty"`
	Timeline        []apiSpan     `json:"timeline"`
	SpansLeftOut    int           `json:"timeline_left_out,omitempty"`
}

// apiAnswered is a hypothesis that was weighed. Holds is yes, no or unknown.
type apiAnswered struct {
	Verdict string `json:"verdict"`
	Holds   string `json:"holds"`
	Because string `json:"because"`
}

type apiService struct {
	Namespace     string  `json:"namespace"`
	Service       string  `json:"service"`
	AddressesLost int     `json:"addresses_lost"`
	AddressesBack int     `json:"addresses_back"`
	Outages       int     `json:"outages"`
	OutageSeconds float64 `json:"outage_seconds"`
	Down          bool    `json:"down"`
}

type apiNumbers struct {
	GracePeriod            float64     `json:"grace_period_seconds,omitempty"`
	LongestInterval        float64     `json:"longest_heartbeat_interval_seconds,omitempty"`
	RecommendedGracePeriod float64     `json:"recommended_grace_period_seconds,omitempty"`
	Windows                []apiWindow `json:"consumer_windows,omitempty"`
}

type apiWindow struct {
	Seconds float64 `json:"seconds"`
	Bounces int     `json:"bounces"`
	// StaleReadds are addresses that were put back although their container was being replaced.
	StaleReadds int `json:"stale_readds"`
}

type apiEvidence struct {
	Time  time.Time `json:"time"`
	Until time.Time `json:"until"`
	Count int       `json:"count"`
	Text  string    `json:"text"`
}

type apiSpan struct {
	Lane  string     `json:"lane"`
	Name  string     `json:"name"`
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end"`
}

type apiError struct {
	Error string `json:"error"`
}

func apiHandler(clusters []Cluster) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := query.Parse(r.URL.RawQuery)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		all, asOf := find(clusters, &q, func(c *Cluster) ([]incident.Incident, time.Time) { return c.Incidents() })
		answer := apiAnswer{AsOf: asOf.UTC(), Coverage: toAPICoverage(unwatchedOf(clusters, &q)), Incidents: make([]apiIncident, 0, len(all))}
		for i := range all {
			if q.MatchesState(all[i].Incident) && q.MatchesVerdict(all[i].Incident) {
				answer.Incidents = append(answer.Incidents, toAPI(&all[i]))
			}
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	// An error means that the client is gone.
	_ = encoder.Encode(answer)
}

func toAPI(x *found) apiIncident {
	a := apiIncident{
		ID: x.ID, Also: x.Also, Cluster: x.cluster.Name, State: string(x.State), Start: x.Start.UTC(), End: timeOrNull(x.End),
		DurationSeconds: lasted(x).Seconds(), Cause: x.Cause.String(),
		Verdict: x.Verdict.String(), Considered: []apiAnswered{}, Command: x.Command, Withdrawn: x.Withdrawn, Scope: string(x.Scope),
		Namespace: x.Namespace, Subject: x.Subject, Summary: x.Summary, Remedy: x.Remedy,
		Nodes: append([]string{}, x.Nodes...), NodesLeftOut: x.NodesLeftOut, NodeTransitions: x.Turned, PodsEvicted: x.Evicted,
		Services: []apiService{}, ServicesLeftOut: x.ServicesLeftOut,
		AddressesLost: x.Lost, AddressesBack: x.Bounces, Outages: x.Outages, OutageSeconds: x.OutageTime.Seconds(),
		Numbers:  toAPINumbers(&x.Numbers),
		Evidence: []apiEvidence{}, EvidenceLeftOut: x.EvidenceLeftOut, Timeline: []apiSpan{}, SpansLeftOut: x.SpansLeftOut,
	}
	for _, c := range x.Considered {
		a.Considered = append(a.Considered, apiAnswered{c.Verdict.String(), c.Holds.String(), c.Because})
	}
	for _, s := range x.Services {
		a.Services = append(a.Services, apiService{s.Namespace, s.Name, s.Lost, s.Bounces, s.Outages, s.OutageTime.Seconds(), s.Down})
	}
	for _, e := range x.Evidence {
		a.Evidence = append(a.Evidence, apiEvidence{e.Time.UTC(), e.Until.UTC(), e.Count, e.Text})
	}
	for _, s := range x.Timeline {
		a.Timeline = append(a.Timeline, apiSpan{string(s.Track), s.Name, s.Start.UTC(), timeOrNull(s.End)})
	}
	return a
}

func toAPICoverage(all []unwatched) apiCoverage {
	a := apiCoverage{NotWatched: []apiNotWatched{}}
	for _, u := range all {
		a.NotWatched = append(a.NotWatched, apiNotWatched{u.cluster, u.resource, timeOrNull(u.since), u.reason})
	}
	return a
}

func toAPINumbers(n *incident.Numbers) apiNumbers {
	a := apiNumbers{
		GracePeriod: n.GracePeriod.Seconds(), LongestInterval: n.LongestInterval.Seconds(),
		RecommendedGracePeriod: n.RecommendedGracePeriod.Seconds(),
	}
	for _, w := range n.Windows {
		a.Windows = append(a.Windows, apiWindow{w.Length.Seconds(), w.Bounces, w.StaleReadds})
	}
	return a
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// lasted is how long an incident lasted, or has lasted so far.
func lasted(x *found) time.Duration {
	end := x.End
	if end.IsZero() {
		end = x.asOf
	}
	return max(end.Sub(x.Start), 0)
}
