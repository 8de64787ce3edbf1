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

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

const (
	// maxScrapes bounds the scrapes that run at the same time: two Prometheis and a person.
	maxScrapes = 10
	// maxReaders bounds the answers with incidents that are made at the same time.
	maxReaders = 10
)

// Handler serves a page of metrics, the incidents of clusters, and on /-/ready that unready names nothing. What it
// measures of itself it registers with the registry, which should be on the page.
func Handler(page *metrics.Page, registry *prometheus.Registry, unready func() []watches.Watch, clusters []Cluster, logger *slog.Logger) (http.Handler, error) {
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
			{Address: "/-/ready", Text: "Ready", Description: "every watch has synced, and works"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("render the landing page: %w", err)
	}
	flaps, err := flapsHandler(clusters, logger)
	if err != nil {
		return nil, err
	}
	scrapes, err := metricsHandler(page, registry, logger)
	if err != nil {
		return nil, err
	}
	readers := make(chan struct{}, maxReaders)
	mux := http.NewServeMux()
	mux.Handle("GET /flaps", patient(limited(readers, flaps)))
	mux.HandleFunc("GET /flaps.css", styleHandler)
	mux.Handle("GET /api/v1/incidents", patient(limited(readers, apiHandler(clusters))))
	mux.Handle("GET /", landing)
	mux.Handle("GET /metrics", patient(limited(make(chan struct{}, maxScrapes), scrapes)))
	mux.Handle("GET /-/", Probes(unready))
	return Secured(mux), nil
}

// limited answers no more requests at the same time than free has room for, and refuses others, as /metrics does.
func limited(free chan struct{}, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			handler.ServeHTTP(w, r)
		default:
			http.Error(w, "Too many requests at the same time: try again.", http.StatusServiceUnavailable)
		}
	})
}

// Probes answers what a kubelet asks, and says nothing of the cluster but which resources unready names: on /-/ready
// they are why it is not. /-/healthy it is always.
func Probes(unready func() []watches.Watch) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "kubeflap is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if blind := unready(); len(blind) > 0 {
			http.Error(w, unfit(blind), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "kubeflap is ready.")
	})
	return Secured(mux)
}
