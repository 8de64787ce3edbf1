package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// maxParameter bounds a parameter: Kubernetes names have at most 253 bytes.
const maxParameter = 253

// maxSubject bounds a subject: a namespace, a kind and a name.
const maxSubject = 2*maxParameter + 64

func longest(parameter string) int {
	if parameter == "subject" {
		return maxSubject
	}
	return maxParameter
}

// query has the parameters of a URL. An empty one does not filter.
type query struct {
	Cluster, Namespace, Service, Node, Cause string
	From, To                                 time.Time
	// ID names an incident. Subject and At, a time at which it was ongoing, find it at a replica that gave it another ID.
	ID, Subject string
	At          time.Time
}

// parameters returns the setter of each parameter that a URL may have.
func (q *query) parameters() map[string]func(string) error {
	text := func(into *string) func(string) error {
		return func(s string) error {
			*into = s
			return nil
		}
	}
	return map[string]func(string) error{
		"cluster": text(&q.Cluster), "namespace": text(&q.Namespace), "service": text(&q.Service), "node": text(&q.Node),
		"id": text(&q.ID), "subject": text(&q.Subject), "cause": q.setCause,
		"from": func(s string) (err error) { q.From, err = parseTime(s); return err },
		"to":   func(s string) (err error) { q.To, err = parseTime(s); return err },
		"at":   func(s string) (err error) { q.At, err = parseTime(s); return err },
	}
}

// parseQuery reads the query of a URL. An unknown or malformed parameter is an error:
// if it were ignored, the page would show everything.
func parseQuery(raw string) (query, error) {
	var q query
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, fmt.Errorf("malformed query: %w", err)
	}
	known := q.parameters()
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		set, ok := known[name]
		switch {
		case !ok:
			return q, fmt.Errorf("unknown parameter %.40q: use at, cause, cluster, from, id, namespace, node, service, subject, to", name)
		case len(values[name]) > 1:
			return q, fmt.Errorf("parameter %s occurs %d times", name, len(values[name]))
		case len(values[name][0]) > longest(name):
			return q, fmt.Errorf("parameter %s is longer than %d bytes", name, longest(name))
		case values[name][0] == "":
			continue
		}
		if err := set(values[name][0]); err != nil {
			return q, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return q, fmt.Errorf("parameter to is before from")
	}
	return q, nil
}

func (q *query) setCause(s string) error {
	var all []string
	for _, c := range cause.All() {
		if c.String() == s {
			q.Cause = s
			return nil
		}
		all = append(all, c.String())
	}
	return fmt.Errorf("%.40q is not one of %s", s, strings.Join(all, ", "))
}

// formTime is the format of a datetime-local field. It is read as UTC.
const formTime = "2006-01-02T15:04"

func parseTime(s string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(s, 10, 64); err == nil && seconds >= 0 && seconds < 1<<35 {
		return time.Unix(seconds, 0).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, formTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-03-01T12:00:00Z or 1772366400", s)
}

// matches reports whether an incident belongs to the query. An incident whose list of
// nodes or Services is truncated matches: the rest may contain the name.
func (q *query) matches(cluster string, x *incident.Incident) bool {
	switch {
	case q.Cluster != "" && q.Cluster != cluster:
		return false
	case q.ID != "" && q.ID != x.ID && !slices.Contains(x.Also, q.ID):
		return false
	case q.ID == "" && q.Subject != "" && q.Subject != subjectOf(x):
		return false
	case q.ID == "" && !q.At.IsZero() && !ongoingAt(x, q.At):
		return false
	case q.Cause != "" && q.Cause != x.Cause.String():
		return false
	case !q.To.IsZero() && x.Start.After(q.To):
		return false
	case !q.From.IsZero() && !x.End.IsZero() && x.End.Before(q.From):
		return false
	case q.Node != "" && x.NodesLeftOut == 0 && !slices.Contains(x.Nodes, q.Node):
		return false
	}
	return q.matchesService(x)
}

// subjectOf is the subject of an incident, as links contain it.
func subjectOf(x *incident.Incident) string {
	if x.Namespace == "" {
		return x.Subject
	}
	return x.Namespace + "/" + x.Subject
}

// replicaSkew is how much replicas may differ in an incident's start and end.
const replicaSkew = time.Minute

func ongoingAt(x *incident.Incident, at time.Time) bool {
	return !at.Before(x.Start.Add(-replicaSkew)) && (x.End.IsZero() || !at.After(x.End.Add(replicaSkew)))
}

func (q *query) matchesService(x *incident.Incident) bool {
	if q.Namespace == "" && q.Service == "" || x.ServicesLeftOut > 0 {
		return true
	}
	return slices.ContainsFunc(x.Services, func(s incident.Service) bool {
		return (q.Namespace == "" || q.Namespace == s.Namespace) && (q.Service == "" || q.Service == s.Name)
	})
}

// active returns the filters in words.
func (q *query) active() []string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+" "+value)
		}
	}
	add("cluster", q.Cluster)
	add("namespace", q.Namespace)
	add("Service", q.Service)
	add("node", q.Node)
	add("cause", q.Cause)
	if q.ID == "" {
		add("subject", q.Subject)
		if !q.At.IsZero() {
			add("at", moment(q.At))
		}
	}
	if !q.From.IsZero() {
		add("from", moment(q.From))
	}
	if !q.To.IsZero() {
		add("to", moment(q.To))
	}
	return all
}

// isEmpty reports whether the query has no filter.
func (q *query) isEmpty() bool { return *q == query{} }
