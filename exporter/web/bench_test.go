package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// many returns a log with n incidents, each with the maximum of evidence.
func many(n int) *correlate.Log {
	log := correlate.New(n)
	for i := range n {
		for j := range 40 {
			t := float64(i*10) + float64(j)/20
			web := transition.Address{
				Service: transition.Service{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)},
				Pod:     transition.Pod{Namespace: "shop", Name: "web", Node: fmt.Sprintf("node-%d", j), Owner: fmt.Sprintf("StatefulSet/web%d", i)},
			}
			log.Observe(transition.AddressLost{At: transition.At{Time: at(t)}, Address: web, Cause: cause.ProbeFailed})
			log.Observe(transition.AddressReady{At: transition.At{Time: at(t + 0.02)}, Address: web})
		}
	}
	return log
}

func BenchmarkPageWith500Incidents(b *testing.B) {
	log := many(500)
	handler, err := Handler(Pages{Metrics: metrics.NewPage(prometheus.NewRegistry()), Registry: prometheus.NewRegistry(), Unready: allWatched, Clusters: []Cluster{clusterOf("", log, at(6000))}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/flaps", "/api/v1/incidents"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}
