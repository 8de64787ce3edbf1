package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

type apiError struct {
	Error string `json:"error"`
}

func apiHandler(clusters []Cluster) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := parse(clusters, r.URL.RawQuery, api.ParseQuery)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, Answer(clusters, &q))
	}
}

// adviceHandler serves the advice for the cluster that the parameter "cluster" selects.
func adviceHandler(clusters []Cluster) http.HandlerFunc {
	onlyCluster := func(raw string) (q api.Query, err error) {
		_, err = api.Parameters{"cluster": &q.Cluster}.Parse(raw)
		if err == nil && q.Cluster == "" && len(clusters) > 1 {
			err = errors.New("there are several clusters: set the parameter cluster to one of " + namesOf(clusters))
		}
		return q, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := parse(clusters, r.URL.RawQuery, onlyCluster)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		i := slices.IndexFunc(clusters, func(c Cluster) bool { return q.MatchesCluster(c.Name) })
		given, err := clusters[i].Advice()
		if err != nil {
			writeJSON(w, http.StatusServiceUnavailable, apiError{err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, given)
	}
}

func namesOf(clusters []Cluster) string {
	var names []string
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// parse parses the query of a URL. It returns an error if no cluster matches the query. Without this error, the response
// would be an empty list of incidents, which would look like an all-clear.
func parse(clusters []Cluster, raw string, query func(raw string) (api.Query, error)) (api.Query, error) {
	q, err := query(raw)
	if err != nil || len(clusters) == 0 || slices.ContainsFunc(clusters, func(c Cluster) bool { return q.MatchesCluster(c.Name) }) {
		return q, err
	}
	return q, fmt.Errorf("parameter cluster: %.40q is not one of %s", q.Cluster, namesOf(clusters))
}

// Answer returns the response to a request for api.Path with this query.
func Answer(clusters []Cluster, q *api.Query) api.Answer {
	answer, every := read(clusters, q)
	for _, x := range find(every, q) {
		answer.Incidents = append(answer.Incidents, *x.complete().Incident)
	}
	return answer
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	// An encoding error means that the client has disconnected.
	_ = encoder.Encode(answer)
}

// addCoverage adds the coverage of a cluster, in the query's period.
func addCoverage(a *api.Coverage, cluster string, s *State, q *api.Query) {
	a.IncidentsLostUntil.Time = incident.Later(a.IncidentsLostUntil.Time, s.LostUntil)
	a.Since.Time, a.Started.Time = incident.Later(a.Since.Time, s.Coverage.Since), incident.Later(a.Started.Time, s.Started)
	a.NotWatched = append(a.NotWatched, notWatched(cluster, s.Coverage.NotWatched)...)
	for _, g := range s.Coverage.Within(q.From, q.To) {
		a.Gaps = append(a.Gaps, api.Gap{
			Cluster: cluster, Resources: g.Resources, From: g.From.UTC(), To: phrase.Time{Time: g.To}, Reason: string(g.Reason), MayMiss: g.Missed(),
		})
	}
	if r := s.Recorder; r != nil {
		a.Recorder = &api.Recorder{Recording: r.Recording, Since: phrase.Time{Time: r.Since}, Oldest: phrase.Time{Time: r.Oldest}, EventsLost: r.Lost, Gaps: r.Gaps}
		if r.Err != nil {
			a.Recorder.Reason = r.Err.Error()
		}
	}
}

func notWatched(cluster string, all []watches.Watch) (list []api.NotWatched) {
	for _, w := range all {
		list = append(list, api.NotWatched{Cluster: cluster, Resource: w.Resource.String(), Since: phrase.Time{Time: w.Since}, Reason: string(w.Reason), Optional: !w.Expected})
	}
	return list
}
