// Package web serves metrics, incidents and probes over HTTP. It makes no decisions about incidents.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"net/url"

	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// maxScrapes is the maximum number of concurrent scrapes. Two Prometheus servers and a user need fewer.
	maxScrapes = 10
	// maxReaders is the maximum number of concurrent requests for incidents.
	maxReaders = 10
	// maxDownloads is the maximum number of concurrent downloads of recordings. It is low, because each download reads
	// and compresses files.
	maxDownloads = 2
)

// Pages holds the content that Handler serves.
type Pages struct {
	Metrics  *metrics.Page
	Clusters []Cluster
	// Unready returns the resources that make /-/ready fail.
	Unready func() []watches.Watch
	// If Profiles is set, the profiles of the Go runtime are served at the paths that go tool pprof uses.
	Profiles bool
	// Recordings is the handler for RecordingPath. It is nil if downloads are disabled.
	Recordings http.Handler
}

// Handler returns a handler for all pages. It returns an error if the handler's metrics cannot be registered.
func Handler(pages Pages, logger *slog.Logger) (http.Handler, error) {
	landing, err := landingPage(pages.Clusters)
	if err != nil {
		return nil, err
	}
	for i := range pages.Clusters {
		pages.Clusters[i].downloads = pages.Recordings != nil
	}
	metricsPage, err := metricsHandler(pages.Metrics, logger)
	if err != nil {
		return nil, err
	}
	readers := make(chan struct{}, maxReaders)
	mux := http.NewServeMux()
	mux.Handle("GET /flaps", limitConcurrency(readers, flapsHandler(pages.Clusters, logger)))
	mux.HandleFunc("GET /flaps.css", fileHandler("flaps.css"))
	mux.HandleFunc("GET /flaps.js", fileHandler("flaps.js"))
	mux.HandleFunc("GET /flaps.svg", fileHandler("flaps.svg"))
	mux.Handle("GET "+api.Path, limitConcurrency(readers, apiHandler(pages.Clusters)))
	mux.Handle("GET "+api.AdvicePath, limitConcurrency(readers, adviceHandler(pages.Clusters)))
	if pages.Recordings != nil {
		mux.Handle("GET "+RecordingPath, limitConcurrency(make(chan struct{}, maxDownloads), pages.Recordings))
	}
	mux.Handle("GET /", landing)
	mux.Handle("GET /metrics", limitConcurrency(make(chan struct{}, maxScrapes), metricsPage))
	mux.Handle("GET /-/", Probes(pages.Unready))
	if pages.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return withHeaders(mux), nil
}

func landingPage(clusters []Cluster) (http.Handler, error) {
	links := []toolkit.LandingLinks{
		{Address: "/flaps", Text: "Incidents", Description: "what lost readiness, why, and what to do"},
		{Address: "/api/v1/incidents", Text: "Incidents as JSON", Description: "incidents for programs"},
	}
	for _, c := range clusters {
		advice := toolkit.LandingLinks{Address: api.AdvicePath, Text: "Advice as JSON", Description: "the report of kubeflap advise"}
		if c.Name != "" {
			name := url.QueryEscape(c.Name) // the library does not escape
			advice.Address, advice.Description = advice.Address+"?cluster="+name, advice.Description+" on "+name
		}
		links = append(links, advice)
	}
	page, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "kubeflap",
		Description: "Counts every readiness change in a Kubernetes cluster, however brief",
		Version:     version.Info(),
		Profiling:   "false",
		Links: append(links,
			toolkit.LandingLinks{Address: "/metrics", Text: "Metrics", Description: "metrics for Prometheus"},
			toolkit.LandingLinks{Address: "/-/healthy", Text: "Healthy", Description: "the process is alive"},
			toolkit.LandingLinks{Address: "/-/ready", Text: "Ready", Description: "all watches have synced and work"}),
	})
	if err != nil {
		return nil, fmt.Errorf("render the landing page: %w", err)
	}
	return page, nil
}

// limitConcurrency limits the number of concurrent requests to cap(places). It rejects additional requests with status
// 503.
func limitConcurrency(places chan struct{}, handler http.Handler) http.Handler {
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

// Probes returns a handler for the kubelet's probes. /-/healthy always succeeds. If unready returns resources, /-/ready
// fails and lists them. The probes reveal nothing else about the cluster.
func Probes(unready func() []watches.Watch) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "kubeflap is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if watches := unready(); len(watches) > 0 {
			http.Error(w, "kubeflap is not ready: it does not watch "+api.Unwatched(notWatched("", watches))+".", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "kubeflap is ready.")
	})
	return withHeaders(mux)
}
