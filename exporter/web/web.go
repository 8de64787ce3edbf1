// Package web serves what readers ask for over HTTP: the metrics, the state of
// the process, and a page that says what there is. It decides nothing.
package web

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// Handler serves what is gathered as metrics, the incidents of clusters, and on /-/ready whether ready says so. What it
// measures of itself it registers with the registry, which should be among what is gathered.
func Handler(gatherer prometheus.TransactionalGatherer, registry *prometheus.Registry, ready func() bool, clusters []Cluster, logger *slog.Logger) (http.Handler, error) {
	landing, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "kubeflap",
		Description: "Counts every change of readiness in a Kubernetes cluster, however brief",
		Version:     version.Info(),
		Profiling:   "false",
		Links: []toolkit.LandingLinks{
			{Address: "/flaps", Text: "Incidents", Description: "what lost readiness, why, and what to do"},
			{Address: "/api/v1/incidents", Text: "Incidents as JSON", Description: "the same for programs"},
			{Address: "/metrics", Text: "Metrics", Description: "what Prometheus scrapes"},
			{Address: "/-/healthy", Text: "Healthy", Description: "the process is alive"},
			{Address: "/-/ready", Text: "Ready", Description: "every watch has synced"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("render the landing page: %w", err)
	}
	flaps, err := flapsHandler(clusters, logger)
	if err != nil {
		return nil, err
	}
	scrapes, err := metricsHandler(gatherer, registry, logger)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /flaps", flaps)
	mux.HandleFunc("GET /flaps.css", styleHandler)
	mux.HandleFunc("GET /api/v1/incidents", apiHandler(clusters))
	mux.Handle("GET /", landing)
	mux.Handle("GET /metrics", scrapes)
	mux.Handle("GET /-/", Probes(ready))
	return mux, nil
}

// Probes answers what a kubelet asks, and says nothing of the cluster: /-/healthy, and on /-/ready whether ready says so.
func Probes(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "kubeflap is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "kubeflap is not ready: not every watch has synced.", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "kubeflap is ready.")
	})
	return mux
}
