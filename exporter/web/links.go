package web

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// recordedAround is how much time a recording includes before and after its incident.
const recordedAround = 10 * time.Minute

// Drawing returns the timeline.
func (x *clusterIncident) Drawing() *api.Drawing { return api.Draw(x.Incident, x.asOf) }

// Link returns a link that works at every replica, even at one that started during the incident.
func (x *clusterIncident) Link() string {
	link, at := url.Values{"id": {x.ID}}, cmp.Or(x.End.Time, x.Start)
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
