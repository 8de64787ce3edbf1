// Package prometheus runs a real Prometheus, which scrapes kubeflap and evaluates the shipped rules.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

const (
	// Interval is the scrape interval and the evaluation interval. It is short, so that alerts fire soon.
	Interval = 5 * time.Second
	// startTimeout is long, because the machine may be compiling at the same time.
	startTimeout = 3 * time.Minute
	// binary is the path of Prometheus, which make builds, and rules that of the alert rules, relative to the lab's directory.
	binary, rules = "../bin/prometheus", "../rules"
	// examplePage is the URL of kubeflap's page in the shipped rules. The lab replaces it by the real URL, as users do.
	examplePage = "https://kubeflap.example.org"
)

// Prometheus is a running Prometheus.
type Prometheus struct {
	URL string

	dir     string
	process *cluster.Process
}

// Alert is a firing alert.
type Alert struct {
	Labels, Annotations map[string]string
	State               string
}

// Start starts a Prometheus with the shipped rules. It returns when the first of the given replicas of kubeflap (host and
// port) is scraped, because PromQL shows an increase only after the first sample. The caller must call Stop.
func Start(ctx context.Context, kubeflap ...string) (*Prometheus, error) {
	dir, err := os.MkdirTemp("", "kubeflap-lab-prometheus-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for Prometheus: %w", err)
	}
	p := &Prometheus{dir: dir}
	if err := steps.Run(func() { p.start(ctx, kubeflap) }); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start Prometheus: %w", err)
	}
	return p, nil
}

// config sets the target labels that the Prometheus Operator would set.
const config = `
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [rules/*.yaml]
scrape_configs:
- job_name: kubeflap
  honor_labels: true
  static_configs: [{targets: ["%[2]s"], labels: {namespace: monitoring, service: kubeflap}}]
`

func (p *Prometheus) start(ctx context.Context, kubeflap []string) {
	steps.Must(os.Mkdir(filepath.Join(p.dir, "rules"), 0o700))
	for _, name := range []string{"nodes.yaml", "services.yaml", "kubeflap.yaml"} {
		text := string(steps.Value(os.ReadFile(filepath.Join(rules, name))))
		p.write("rules/"+name, strings.ReplaceAll(text, examplePage, "http://"+kubeflap[0]))
	}
	file := p.write("prometheus.yaml", fmt.Sprintf(config, Interval, strings.Join(kubeflap, `", "`)))
	address := cluster.FreePort()
	p.URL = "http://" + address
	p.process = cluster.StartProcess("prometheus", filepath.Join(p.dir, "log"), cluster.Command{Path: binary, Args: []string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(p.dir, "data"), "--web.listen-address=" + address,
	}})
	steps.Must(p.process.Until(ctx, startTimeout, "Prometheus to scrape kubeflap", func(ctx context.Context) error {
		return p.has(ctx, `up{job="kubeflap"} == 1`)
	}))
}

func (p *Prometheus) write(name, text string) (path string) {
	path = filepath.Join(p.dir, name)
	steps.Must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Alerts returns all alerts that are firing.
func (p *Prometheus) Alerts(ctx context.Context) (firing []Alert) {
	var answer struct{ Data struct{ Alerts []Alert } }
	steps.Must(p.process.Alive(), fetch.JSON(ctx, p.URL+"/api/v1/alerts", &answer))
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			firing = append(firing, a)
		}
	}
	return firing
}

// Query runs an instant query. It returns the labels of each result.
func (p *Prometheus) Query(ctx context.Context, query string) (series []map[string]string) {
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	steps.Must(fetch.JSON(ctx, p.URL+"/api/v1/query?query="+url.QueryEscape(query), &answer))
	for _, result := range answer.Data.Result {
		series = append(series, result.Metric)
	}
	return series
}

// Until waits until a query has a result.
func (p *Prometheus) Until(ctx context.Context, query string) {
	steps.Must(poll.Until(ctx, startTimeout, query, func(ctx context.Context) error { return p.has(ctx, query) }))
}

func (p *Prometheus) has(ctx context.Context, query string) error {
	return steps.Run(func() {
		if len(p.Query(ctx, query)) == 0 {
			steps.Must(errors.New("no result yet"))
		}
	})
}

// Stop stops Prometheus and removes its data.
func (p *Prometheus) Stop() {
	if p.process != nil {
		p.process.Stop()
	}
	_ = os.RemoveAll(p.dir) // it is a temporary directory
}
