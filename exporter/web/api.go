package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

type apiError struct {
	Error string `json:"error"`
}

func apiHandler(clusters []Cluster) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := api.ParseQuery(r.URL.RawQuery)
		if err == nil {
			err = checkCluster(clusters, &q)
		}
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, Answer(clusters, &q))
	}
}

// adviceHandler serves the advice for the cluster that the parameter "cluster" selects.
func adviceHandler(clusters []Cluster) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q api.Query
		err := api.ParseParameters(r.URL.RawQuery, map[string]func(string) error{"cluster": func(s string) error { q.Cluster = s; return nil }})
		if err == nil {
			err = checkCluster(clusters, &q)
		}
		if err == nil && q.Cluster == "" && len(clusters) > 1 {
			err = fmt.Errorf("there are several clusters: set the parameter cluster to one of %s", strings.Join(namesOf(clusters), ", "))
		}
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

func namesOf(clusters []Cluster) (names []string) {
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	return names
}

// checkCluster returns an error if no cluster matches the query. Without this error, the response would be an empty
// list of incidents, which would look like an all-clear.
func checkCluster(clusters []Cluster, q *api.Query) error {
	if len(clusters) == 0 || slices.ContainsFunc(clusters, func(c Cluster) bool { return q.MatchesCluster(c.Name) }) {
		return nil
	}
	return fmt.Errorf("parameter cluster: %.40q is not one of %s", q.Cluster, strings.Join(namesOf(clusters), ", "))
}

// Answer returns the response to a request for api.Path with this query.
func Answer(clusters []Cluster, q *api.Query) api.Answer {
	answer, every := read(clusters, q)
	for _, x := range find(every, q) {
		if q.MatchesState(x.Incident) && q.MatchesVerdict(x.Incident) {
			answer.Incidents = append(answer.Incidents, *x.complete().Incident)
		}
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
