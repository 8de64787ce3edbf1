package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Query holds the parameters of a URL. An empty Query selects all incidents.
type Query struct {
	Cluster, Namespace, Service, Node string
	// Cause, Verdict and State are empty or contain one of the allowed values.
	Cause, Verdict, State string
	// From and To select incidents that were ongoing at some time between them. A zero time means no limit.
	From, To time.Time
	// ID selects a single incident. If this replica knows the incident by another ID, Subject and At identify it. At is
	// a time at which the incident was ongoing.
	ID, Subject string
	At          time.Time
	// Page starts at 1.
	Page int

	// values holds the non-empty parameters except "page".
	values url.Values
}

// ParseQuery parses the query of a URL. If a parameter is unknown, repeated or malformed, it returns an error that names
// the parameter. Without an error, the user might get incidents that they did not ask for.
func ParseQuery(raw string) (Query, error) { return parse(raw, false) }

// ParsePage is like ParseQuery, but also accepts the parameter "page".
func ParsePage(raw string) (Query, error) { return parse(raw, true) }

func parse(raw string, paged bool) (Query, error) {
	q := Query{Page: 1, values: url.Values{}}
	known := q.parameters()
	if !paged {
		delete(known, "page")
	}
	for name, set := range known {
		known[name] = func(value string) error {
			if value == "" {
				return nil
			}
			if name != "page" {
				q.values.Set(name, value)
			}
			return set(value)
		}
	}
	if err := ParseParameters(raw, known); err != nil {
		return Query{}, err
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return Query{}, fmt.Errorf(`parameter "to" is before "from"`)
	}
	return q, nil
}

// ParseParameters parses the query of a URL. It passes the value of each parameter to the parameter's function. Its
// errors name the parameter.
func ParseParameters(raw string, known map[string]func(value string) error) error {
	values, err := decode(raw)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		set, ok := known[name]
		switch all := values[name]; {
		case !ok:
			return fmt.Errorf("unknown parameter %.40q: use %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case len(all) > 1:
			return fmt.Errorf("parameter %s occurs %d times", name, len(all))
		case len(all[0]) > longest(name):
			return fmt.Errorf("parameter %s is longer than %d bytes", name, longest(name))
		}
		if err := set(values[name][0]); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return nil
}

// decode parses name=value&name=value. Its errors name the parameter, unlike those of url.ParseQuery.
func decode(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if strings.Contains(pair, ";") {
			return nil, fmt.Errorf("malformed query: parameter %.40q has a semicolon: separate parameters with &, and write %%3B in a value", name)
		}
		decoded, err := url.QueryUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("malformed query: name of the parameter %.40q: %w", name, err)
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("malformed query: parameter %.40q: %w", decoded, err)
		}
		values.Add(decoded, value)
	}
	return values, nil
}

// IsEmpty reports whether the query selects all incidents.
func (q *Query) IsEmpty() bool { return len(q.values) == 0 }

// With returns the URL query with a parameter set to the given value. If the value is empty, With removes the
// parameter. It keeps all other parameters except "page".
func (q *Query) With(name, value string) string {
	values := url.Values{}
	maps.Copy(values, q.values)
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	return values.Encode()
}

// MatchesState reports whether an incident is in the query's state.
func (q *Query) MatchesState(x *Incident) bool { return q.State == "" || q.State == x.State }

// MatchesVerdict reports whether an incident has the query's verdict.
func (q *Query) MatchesVerdict(x *Incident) bool {
	return q.Verdict == "" || q.Verdict == x.Verdict
}

// MatchesCluster reports whether the query selects a cluster. A cluster without a name always matches. Links may
// contain a name that kubeflap does not know, such as the dashboards' cluster label.
func (q *Query) MatchesCluster(name string) bool {
	return q.Cluster == "" || name == "" || q.Cluster == name
}

// matchesID reports whether the query's ID is one of the incident's IDs. The query's ID can be abbreviated.
func (q *Query) matchesID(x *Incident) bool {
	matches := func(id string) bool { return id == q.ID || Abbreviates(q.ID, id) }
	return matches(x.ID) || slices.ContainsFunc(x.Also, matches)
}

// MatchesSubject reports whether the query selects an incident, regardless of state and verdict. If the incident's list
// of nodes is truncated, every node matches. The same applies to Services.
func (q *Query) MatchesSubject(x *Incident) bool {
	switch {
	case !q.MatchesCluster(x.Cluster):
		return false
	case q.ID != "" && !q.matchesID(x):
		return false
	case q.ID == "" && q.Subject != "" && q.Subject != SubjectOf(x):
		return false
	case q.ID == "" && !q.At.IsZero() && !ongoingAt(x, q.At):
		return false
	case q.Cause != "" && q.Cause != x.Cause:
		return false
	case !q.To.IsZero() && x.Start.After(q.To):
		return false
	case x.End != nil && x.End.Before(q.From):
		return false
	case q.Node != "" && x.NodesLeftOut == 0 && !slices.Contains(x.Nodes, q.Node):
		return false
	}
	return q.matchesService(x)
}

// WithoutID returns a copy of the query that selects by subject and time instead of by ID. ok reports whether the query
// has an ID, a subject and a time.
func (q *Query) WithoutID() (other Query, ok bool) {
	other = *q
	other.ID = ""
	return other, q.ID != "" && q.Subject != "" && !q.At.IsZero()
}

// SubjectOf returns an incident's subject in the form that links use.
func SubjectOf(x *Incident) string {
	if x.Namespace == "" {
		return x.Subject
	}
	return x.Namespace + "/" + x.Subject
}

// replicaSkew is the maximum difference between the times at which two replicas start or end the same incident.
const replicaSkew = time.Minute

func ongoingAt(x *Incident, at time.Time) bool {
	return !at.Before(x.Start.Add(-replicaSkew)) && (x.End == nil || !at.After(x.End.Add(replicaSkew)))
}

func (q *Query) matchesService(x *Incident) bool {
	if q.Namespace == "" && q.Service == "" || x.ServicesLeftOut > 0 {
		return true
	}
	return slices.ContainsFunc(x.Services, func(s Service) bool {
		return (q.Namespace == "" || q.Namespace == s.Namespace) && (q.Service == "" || q.Service == s.Service)
	})
}

// Causes returns the allowed values of the parameter "cause".
func Causes() []string { return texts(cause.All()) }

// Verdicts returns the allowed values of the parameter "verdict".
func Verdicts() []string { return texts(verdict.All()) }

// States returns the allowed values of the parameter "state".
func States() []string {
	return []string{string(incident.StateRunning), string(incident.StatePending), string(incident.StateRecovered), string(incident.StateEnded)}
}

func texts[T fmt.Stringer](set []T) []string {
	all := make([]string, len(set))
	for i, x := range set {
		all[i] = x.String()
	}
	return all
}
