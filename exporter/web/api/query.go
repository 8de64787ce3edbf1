package api

import (
	"errors"
	"fmt"
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

	// values holds the non-empty parameters.
	values url.Values
}

// ParseQuery parses the query of a URL. If a parameter is unknown, repeated or malformed, it returns an error that names
// the parameter. Without an error, the user might get incidents that they did not ask for.
func ParseQuery(raw string) (q Query, err error) {
	q.values, err = Parameters{
		"cluster": &q.Cluster, "namespace": &q.Namespace, "service": &q.Service, "node": &q.Node, "id": &q.ID, "subject": &q.Subject,
		"from": &q.From, "to": &q.To, "at": &q.At,
		"cause": oneOf{&q.Cause, Causes()}, "verdict": oneOf{&q.Verdict, Verdicts()}, "state": oneOf{&q.State, States()},
	}.Parse(raw)
	if err == nil && !q.To.IsZero() && q.To.Before(q.From) {
		err = errors.New(`parameter "to" is before "from"`)
	}
	return q, err
}

// IsEmpty reports whether the query selects all incidents.
func (q *Query) IsEmpty() bool { return len(q.values) == 0 }

// Active returns a description of each active filter.
func (q *Query) Active() (all []string) {
	times := map[string]time.Time{"at": q.At, "from": q.From, "to": q.To}
	for _, name := range []string{"cluster", "namespace", "service", "node", "state", "verdict", "cause", "subject", "at", "from", "to"} {
		value := q.values.Get(name)
		if t := times[name]; !t.IsZero() {
			value = t.Format(time.DateTime)
		}
		if value != "" && (q.ID == "" || name != "subject" && name != "at") {
			all = append(all, name+" "+value)
		}
	}
	return all
}

// FormFrom formats q.From for a datetime-local field, rounded down to a second. It returns "" if q.From is zero.
func (q *Query) FormFrom() string { return formText(q.From, 0) }

// FormTo formats q.To for a datetime-local field, rounded up to a second. It returns "" if q.To is zero.
func (q *Query) FormTo() string { return formText(q.To, time.Second-1) }

func formText(t time.Time, up time.Duration) string {
	if t.IsZero() {
		return ""
	}
	return t.Add(up).UTC().Format(minutes + ":05")
}

// MatchesCluster reports whether the query selects a cluster. A cluster without a name always matches. Links may
// contain a name that kubeflap does not know, such as the dashboards' cluster label.
func (q *Query) MatchesCluster(name string) bool {
	return q.Cluster == "" || name == "" || q.Cluster == name
}

// Matches reports whether the query selects an incident. If the incident's list of nodes is truncated, every node
// matches. The same applies to Services.
func (q *Query) Matches(x *incident.Incident) bool {
	isID := func(id string) bool {
		return id == q.ID || len(q.ID) >= MinPrefix && len(q.ID) < idLength && strings.HasPrefix(id, q.ID)
	}
	ofService := func(s incident.Service) bool {
		return (q.Namespace == "" || q.Namespace == s.Namespace) && (q.Service == "" || q.Service == s.Name)
	}
	switch {
	case !q.MatchesCluster(x.Cluster):
	case q.State != "" && q.State != x.State.String():
	case q.Verdict != "" && q.Verdict != x.Verdict.String():
	case q.ID != "" && !isID(x.ID) && !slices.ContainsFunc(x.Also, isID):
	case q.ID == "" && q.Subject != "" && q.Subject != SubjectOf(x):
	case q.ID == "" && !q.At.IsZero() && !ongoingAt(x, q.At):
	case q.Cause != "" && q.Cause != x.Cause.String():
	case !q.To.IsZero() && x.Start.After(q.To):
	case !x.End.IsZero() && x.End.Before(q.From):
	case q.Node != "" && x.NodesLeftOut == 0 && !slices.Contains(x.Nodes, q.Node):
	case (q.Namespace != "" || q.Service != "") && x.ServicesLeftOut == 0 && !slices.ContainsFunc(x.Services, ofService):
	default:
		return true
	}
	return false
}

// SubjectOf returns an incident's subject in the form that links use.
func SubjectOf(x *incident.Incident) string {
	return strings.TrimPrefix(x.Namespace+"/"+x.Subject, "/")
}

// replicaSkew is the maximum difference between the times at which two replicas start or end the same incident.
const replicaSkew = time.Minute

func ongoingAt(x *incident.Incident, at time.Time) bool {
	return !at.Before(x.Start.Add(-replicaSkew)) && (x.End.IsZero() || !at.After(x.End.Add(replicaSkew)))
}

// Causes returns the allowed values of the parameter "cause".
func Causes() []string { return texts(cause.All()) }

// Verdicts returns the allowed values of the parameter "verdict".
func Verdicts() []string { return texts(verdict.All()) }

// States returns the allowed values of the parameter "state".
func States() []string { return texts(incident.States()) }

func texts[T fmt.Stringer](set []T) []string {
	all := make([]string, len(set))
	for i, x := range set {
		all[i] = x.String()
	}
	return all
}
