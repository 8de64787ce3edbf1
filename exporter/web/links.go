package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	running = string(incident.StateRunning)
	pending = string(incident.StatePending)
)

// recordedAround is how much time a recording includes before and after its incident.
const recordedAround = 10 * time.Minute

// isOpen reports whether the incident was still ongoing when its recording ended.
func (x *clusterIncident) isOpen() bool {
	return x.finished && (x.State == running || x.State == pending)
}

// StateText returns the state in words. It is "open" for incidents that were ongoing when their recording ended.
func (x *clusterIncident) StateText() string {
	if x.isOpen() {
		return "open"
	}
	return x.Incident.StateText()
}

// StateNote returns details about the state. For recordings, it contains no ages, because ages depend on the user's
// clock.
func (x *clusterIncident) StateNote() string {
	switch {
	case x.isOpen() && x.State == pending:
		return "at the end of the recording; nothing was lost yet"
	case x.isOpen():
		return "at the end of the recording"
	case x.State == pending:
		return "nothing is lost yet"
	case x.End != nil && !x.cluster.Recorded:
		return phrase.Duration(x.asOf.Sub(*x.End)) + " ago"
	}
	return ""
}

// Since returns the start of the incident.
func (x *clusterIncident) Since() string { return x.Start.Format(time.DateTime) }

// For returns the duration of the incident.
func (x *clusterIncident) For() string {
	switch {
	case x.isOpen():
		return "for at least " + x.Lasted()
	case x.End == nil:
		return "for " + x.Lasted() + " so far"
	}
	return "for " + x.Lasted()
}

// Down reports whether one of the incident's Services currently has no ready address.
func (x *clusterIncident) Down() bool {
	return slices.ContainsFunc(x.Services, func(s api.Service) bool { return s.Down })
}

// Drawing returns the timeline.
func (x *clusterIncident) Drawing(inList bool) *api.Drawing {
	return api.Draw(x.Incident, x.asOf, inList)
}

// Link returns a link that works at every replica, even at one that started during the incident.
func (x *clusterIncident) Link() string {
	link, at := url.Values{"id": {x.ID}}, x.Start
	if x.End != nil {
		at = *x.End
	}
	if subject := api.SubjectOf(x.Incident); len(subject) <= api.MaxSubject {
		link.Set("subject", subject)
		link.Set("at", strconv.FormatInt(at.Unix(), 10))
	}
	return pageLink(x.encode(link))
}

// JSON returns the link to the incident in the API.
func (x *clusterIncident) JSON() string { return api.Path + "?" + x.encode(url.Values{"id": {x.ID}}) }

// NodeLink returns the link to the incidents of a node.
func (x *clusterIncident) NodeLink(name string) string {
	return pageLink(x.encode(url.Values{"node": {name}}))
}

// ServiceLink returns the link to the incidents of a Service.
func (x *clusterIncident) ServiceLink(s *api.Service) string {
	return pageLink(x.encode(url.Values{"namespace": {s.Namespace}, "service": {s.Service}}))
}

// Recording returns the link to the incident's recording, or "" if downloads are disabled.
func (x *clusterIncident) Recording() string {
	if !x.cluster.downloads {
		return ""
	}
	values := url.Values{"from": {x.Start.Add(-recordedAround).Format(time.RFC3339)}}
	if x.End != nil {
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
