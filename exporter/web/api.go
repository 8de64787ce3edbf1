package web

import (
	"encoding/json"
	"fmt"
	"net/http"
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

// checkCluster returns an error if no cluster matches the query. Without this error, the response would be an empty
// list of incidents, which would look like an all-clear.
func checkCluster(clusters []Cluster, q *api.Query) error {
	var names []string
	for _, c := range clusters {
		if q.MatchesCluster(c.Name) {
			return nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("parameter cluster: %.40q is not one of %s", q.Cluster, strings.Join(names, ", "))
}

// Answer returns the response to a request for api.Path with this query.
func Answer(clusters []Cluster, q *api.Query) api.Answer {
	every, asOf := readAll(clusters, func(c *Cluster) reader { return c.Incidents })
	answer := api.Answer{AsOf: asOf.UTC(), Coverage: coverageOf(clusters, q), Incidents: []api.Incident{}, GracePeriods: gracePeriodsOf(clusters, q)}
	for _, x := range find(every, q) {
		if q.MatchesState(x.Incident) && q.MatchesVerdict(x.Incident) {
			answer.Incidents = append(answer.Incidents, *x.Incident)
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
