package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

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
		answer := api.Answer{AsOf: asOf.UTC(), Coverage: coverageOf(unwatchedOf(clusters, &q)), Incidents: make([]api.Incident, 0, len(all))}
		for i := range all {
			if q.MatchesState(all[i].Incident) && q.MatchesVerdict(all[i].Incident) {
				answer.Incidents = append(answer.Incidents, api.Of(all[i].cluster.Name, all[i].asOf, all[i].Incident))
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

func coverageOf(all []unwatched) api.Coverage {
	a := api.Coverage{NotWatched: []api.NotWatched{}}
	for _, u := range all {
		a.NotWatched = append(a.NotWatched, api.NotWatched{Cluster: u.cluster, Resource: u.resource, Since: api.TimeOrNull(u.since), Reason: u.reason})
	}
	return a
}
