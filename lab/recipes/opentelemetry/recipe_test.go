// Package opentelemetry runs the OpenTelemetry Collector with the configuration from docs/recipes.
package opentelemetry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusremotewriteexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/prompb"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
	"go.yaml.in/yaml/v3"
)

const (
	root   = "../../.."
	recipe = root + "/docs/recipes/opentelemetry.yaml"
)

// The collector must accept the recipe unchanged.
func TestRecipeIsValid(t *testing.T) {
	if err := collector(t, recipe).DryRun(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The collector must send exactly the series of /metrics and of the scrape itself, with the same names and labels. The
// only difference is the notation of bucket bounds: 1 instead of 1.0. No rule or dashboard selects buckets by their
// bounds.
func TestRecipeSendsEverySeries(t *testing.T) {
	address := startKubeflap(t)
	var got written
	server := httptest.NewServer(&got)
	defer server.Close()

	c := collector(t, forTest(t, address, server.URL))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	var want, missing, more []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		want = exposed(t, address) // counts may still change at the end of the replay
		missing, more = got.compare(want)
		if len(missing) == 0 && len(more) == 0 {
			t.Logf("%d series", len(want))
			return
		}
	}
	t.Errorf("missing: %d of %d: %q\nmore: %q", len(missing), len(want), first(missing), first(more))
}

// collector returns a collector with the components of the recipe.
func collector(t *testing.T, file string) *otelcol.Collector {
	t.Helper()
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: func() (otelcol.Factories, error) {
			receivers, err := otelcol.MakeFactoryMap[receiver.Factory](prometheusreceiver.NewFactory())
			if err != nil {
				return otelcol.Factories{}, fmt.Errorf("receivers: %w", err)
			}
			exporters, err := otelcol.MakeFactoryMap[exporter.Factory](prometheusremotewriteexporter.NewFactory())
			if err != nil {
				return otelcol.Factories{}, fmt.Errorf("exporters: %w", err)
			}
			return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"file:" + file}, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
		DisableGracefulShutdown: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// forTest writes the recipe with a fixed target instead of the pods of a cluster, and returns its path. The target has
// the labels of a pod before relabeling.
func forTest(t *testing.T, target, endpoint string) string {
	t.Helper()
	text, err := os.ReadFile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	at := func(m any, keys ...string) map[string]any {
		for _, k := range keys {
			m = m.(map[string]any)[k]
		}
		return m.(map[string]any)
	}
	job := at(config, "receivers", "prometheus", "config")["scrape_configs"].([]any)[0].(map[string]any)
	delete(job, "kubernetes_sd_configs")
	job["scrape_interval"] = "1s"
	meta := map[string]string{
		"__meta_kubernetes_pod_label_app_kubernetes_io_name": "kubeflap",
		"__meta_kubernetes_pod_container_port_name":          "http",
		"__meta_kubernetes_namespace":                        "monitoring",
	}
	probes := maps.Clone(meta)
	probes["__meta_kubernetes_pod_container_port_name"] = "probes"
	job["static_configs"] = []any{
		map[string]any{"targets": []string{target}, "labels": meta},
		map[string]any{"targets": []string{"127.0.0.1:1"}, "labels": probes},
	}
	at(config, "exporters", "prometheus_remote_write")["endpoint"] = endpoint
	at(config, "service")["telemetry"] = map[string]any{"metrics": map[string]string{"level": "none"}}
	text, err = yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startKubeflap replays a recording with kubeflap, waits until the replay has ended, and returns the address of
// kubeflap's metrics.
func startKubeflap(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "kubeflap")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/kubeflap")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubeflap: %v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Glob(root + "/exporter/recording/incidents/*")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	kubeflap := exec.CommandContext(t.Context(), binary, "replay", "--speed=100000", "--web.listen-address="+address, recordings[0])
	log, err := kubeflap.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := kubeflap.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kubeflap.Wait() }) // the end of the test's context kills it
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Listening on") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return address
		}
	}
	t.Fatal("kubeflap ended")
	return ""
}

// exposed returns the series of /metrics and of the scrape itself, with the labels that Prometheus would add.
func exposed(t *testing.T, address string) []string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	add := func(series labels.Labels) {
		b := labels.NewBuilder(series)
		for name, value := range map[string]string{"job": "kubeflap", "instance": address, "namespace": "monitoring"} {
			if !series.Has(name) { // an exposed label stays, even if it is empty
				b.Set(name, value)
			}
		}
		for _, name := range []string{"le", "quantile"} {
			if bound, err := strconv.ParseFloat(series.Get(name), 64); err == nil {
				b.Set(name, strconv.FormatFloat(bound, 'f', -1, 64))
			}
		}
		all = append(all, b.Labels().String())
	}
	for p := textparse.NewPromParser(text, labels.NewSymbolTable(), false); ; {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry == textparse.EntrySeries {
			var series labels.Labels
			p.Labels(&series)
			add(series)
		}
	}
	for _, name := range []string{"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added"} {
		add(labels.FromStrings("__name__", name))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// written is a remote write receiver that collects series.
type written struct {
	mu     sync.Mutex
	series map[string]bool
}

func (s *written) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	var request prompb.WriteRequest
	if err == nil {
		err = request.Unmarshal(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.series == nil {
		s.series = map[string]bool{}
	}
	for _, series := range request.Timeseries {
		var b labels.ScratchBuilder
		for _, l := range series.Labels {
			b.Add(l.Name, l.Value)
		}
		b.Sort()
		s.series[b.Labels().String()] = true
	}
}

// compare returns missing and unexpected series.
func (s *written) compare(want []string) (missing, more []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, series := range want {
		if !s.series[series] {
			missing = append(missing, series)
		}
	}
	for series := range s.series {
		if _, ok := slices.BinarySearch(want, series); !ok {
			more = append(more, series)
		}
	}
	return missing, more
}

// first returns at most five series.
func first(all []string) []string { return all[:min(5, len(all))] }
