package web

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Cluster is a cluster that the pages show.
type Cluster struct {
	// Name identifies the cluster. It is empty if there is only one cluster.
	Name string
	// Recorded is set for a replay, whose times differ from the user's clock.
	Recorded bool
	// Read returns the current state.
	Read func() State
	// Incident returns the incident with the given ID. ok reports whether it exists.
	Incident func(id string) (x incident.Incident, ok bool)
	// Advice returns the report of `kubeflap advise`, or an error if the cluster is not listed yet.
	Advice func() (report.Report, error)
	// downloads is set if the page links to recordings of incidents.
	downloads bool
}

// State is what the pages show about a cluster.
type State struct {
	// AsOf is the current time in the cluster.
	AsOf time.Time
	// Incidents lacks evidence, timelines, numbers, summaries and remedies. Cluster.Incident returns them.
	Incidents []incident.Incident
	// Displaced counts the incidents that were dropped to make room for newer ones.
	Displaced incident.Displaced
	// Started is the start time of this process. It is zero in a replay.
	Started time.Time
	// Coverage says when the resources were watched.
	Coverage watches.Coverage
	// LostUntil is the time until which incidents of earlier processes may be missing because a file was damaged. It is
	// zero if none is missing.
	LostUntil time.Time
	// Recorder is the state of the flight recorder. It is nil if there is no flight recorder.
	Recorder *flightrecorder.Status
	// GracePeriods compares grace periods.
	GracePeriods controlplane.Table
}

// clusterIncident is an incident with its cluster.
type clusterIncident struct {
	*incident.Incident
	cluster *Cluster
}

// read returns the outlines of all incidents, sorted by incident.Compare, and the API document without incidents. The
// document's current time is the latest of any cluster.
func read(clusters []Cluster, q *api.Query) (answer api.Answer, every []clusterIncident) {
	answer.Coverage, answer.Incidents = api.Coverage{NotWatched: []api.NotWatched{}, Gaps: []api.Gap{}}, []incident.Incident{}
	for i := range clusters {
		c := &clusters[i]
		s := c.Read()
		if s.AsOf.After(answer.AsOf) {
			answer.AsOf = s.AsOf.UTC()
		}
		for j := range s.Incidents {
			s.Incidents[j].Cluster = c.Name
			every = append(every, clusterIncident{&s.Incidents[j], c})
		}
		if q.MatchesCluster(c.Name) {
			addCoverage(&answer.Coverage, c.Name, &s, q)
			answer.Coverage.Add(s.Displaced)
			answer.GracePeriods = append(answer.GracePeriods, s.GracePeriods)
		}
	}
	slices.SortStableFunc(every, func(a, b clusterIncident) int { return incident.Compare(a.Incident, b.Incident) })
	return answer, every
}

// complete returns the incident with all details. If the incident was dropped after the state was read, there are no
// details.
func (x clusterIncident) complete() clusterIncident {
	if full, ok := x.cluster.Incident(x.ID); ok {
		full.Cluster = x.Cluster
		x.Incident = &full
	}
	return x
}

// find returns the incidents that match a query. If no incident has the query's ID, find uses the query's subject and time instead, because a link from another replica may contain an ID that this
// replica does not know.
func find(every []clusterIncident, q *api.Query) (all []clusterIncident) {
	for _, x := range every {
		if q.Matches(x.Incident) {
			all = append(all, x)
		}
	}
	if len(all) == 0 && q.ID != "" && q.Subject != "" && !q.At.IsZero() {
		other := *q
		other.ID = ""
		return find(every, &other)
	}
	return all
}

// recordedAround is how much time a recording includes before and after its incident.
const recordedAround = 10 * time.Minute

// Drawing returns the timeline.
func (x *clusterIncident) Drawing() *api.Drawing { return api.Draw(x.Incident) }

// Link returns a link that works at every replica, even at one that started during the incident.
func (x *clusterIncident) Link() string {
	at := strconv.FormatInt(cmp.Or(x.End.Time, x.Start).Unix(), 10)
	return pageLink(x.encode(url.Values{"id": {x.ID}, "subject": {api.SubjectOf(x.Incident)}, "at": {at}}))
}

// JSON returns the link to the incident in the API.
func (x *clusterIncident) JSON() string { return api.Path + "?" + x.encode(url.Values{"id": {x.ID}}) }

// NodeLink returns the link to the incidents of a node.
func (x *clusterIncident) NodeLink(name string) string {
	return pageLink(x.encode(url.Values{"node": {name}}))
}

// ServiceLink returns the link to the incidents of a Service.
func (x *clusterIncident) ServiceLink(s incident.Service) string {
	return pageLink(x.encode(url.Values{"namespace": {s.Namespace}, "service": {s.Name}}))
}

// Recording returns the link to the incident's recording, or "" if downloads are disabled.
func (x *clusterIncident) Recording() string {
	if !x.cluster.downloads {
		return ""
	}
	values := url.Values{"from": {x.Start.Add(-recordedAround).Format(time.RFC3339)}}
	if !x.End.IsZero() {
		values.Set("to", x.End.Add(recordedAround).Format(time.RFC3339))
	}
	return RecordingPath + "?" + values.Encode()
}

// encode encodes URL parameters, and adds the incident's cluster.
func (x *clusterIncident) encode(values url.Values) string {
	if x.Cluster != "" {
		values.Set("cluster", x.Cluster)
	}
	return values.Encode()
}

func pageLink(query string) string { return strings.TrimSuffix("/flaps?"+query, "?") }
