// Package web serves the metrics, the incidents and the state of the process over HTTP. It decides nothing.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

const (
	// maxScrapes bounds concurrent scrapes: two Prometheus servers and a person need less.
	maxScrapes = 10
	// maxReaders bounds concurrent answers with incidents.
	maxReaders = 10
)

// Pages is what Handler serves.
type Pages struct {
	Metrics *metrics.Page
	// Registry takes the metrics of the handler itself. It should be on the page.
	Registry *prometheus.Registry
	Clusters []Cluster
	// Unready returns the resources because of which /-/ready fails.
	Unready func() []watches.Watch
	// Profiles adds the profiles of the Go runtime, under the paths that go tool pprof knows.
	Profiles bool
}

// Handler serves the pages. It returns an error if a template or a metric of its own is invalid.
func Handler(pages Pages, logger *slog.Logger) (http.Handler, error) {
	landing, err := landingPage()
	if err != nil {
		return nil, err
	}
	flaps, err := flapsHandler(pages.Clusters, logger)
	if err != nil {
		return nil, err
	}
	scrapes, err := metricsHandler(pages.Metrics, pages.Registry, logger)
	if err != nil {
		return nil, err
	}
	readers := make(chan struct{}, maxReaders)
	mux := http.NewServeMux()
	mux.Handle("GET /flaps", withDeadline(limited(readers, flaps)))
	mux.HandleFunc("GET /flaps.css", fileHandler("flaps.css"))
	mux.HandleFunc("GET /flaps.js", fileHandler("flaps.js"))
	mux.HandleFunc("GET /flaps.svg", iconHandler)
	mux.Handle("GET /api/v1/incidents", withDeadline(limited(readers, apiHandler(pages.Clusters))))
	mux.Handle("GET /", landing)
	mux.Handle("GET /metrics", withDeadline(limited(make(chan struct{}, maxScrapes), scrapes)))
	mux.Handle("GET /-/", Probes(pages.Unready))
	if pages.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return withHeaders(mux), nil
}

func landingPage() (http.Handler, error) {
	page, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "kubeflap",
		Description: "Counts every readiness change in a Kubernetes cluster, however brief",
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
	return page, nil
}

// limited answers as many requests at the same time as places has room for, and refuses others.
func limited(places chan struct{}, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			handler.ServeHTTP(w, r)
		default:
			http.Error(w, "Too many concurrent requests: try again.", http.StatusServiceUnavailable)
		}
	})
}

// Probes answers the kubelet's probes. /-/healthy always succeeds. /-/ready fails while unready returns resources, and names them;
// neither says anything else about the cluster.
func Probes(unready func() []watches.Watch) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "kubeflap is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if watches := unready(); len(watches) > 0 {
			http.Error(w, notReadyText(watches), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "kubeflap is ready.")
	})
	return withHeaders(mux)
}
