package paging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// histogramsConfig scrapes kubeflap, with a placeholder for the histogram settings.
const histogramsConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: ["%s"]
scrape_configs:
- job_name: kubeflap
  honor_labels: true
  %s
  static_configs: [{targets: ["%s"]}]
`

// Rules and dashboards must support every form in which Prometheus can store histograms: classic, native, both, and
// classic ones converted to native ones. kubeflap replays the five incidents.
func TestHistogramsAreReadInEveryForm(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	program, _, err := Build(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../rules")
	if err != nil {
		t.Fatal(err)
	}
	kubeflap, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	forms := []histogramForm{
		{settings: "scrape_native_histograms: false", classic: true},
		{settings: "scrape_native_histograms: true"},
		{settings: "scrape_native_histograms: true\n  always_scrape_classic_histograms: true", classic: true},
		{settings: "convert_classic_histograms_to_nhcb: true"},
	}
	for i := range forms {
		p := &Paging{options: Options{Log: log}, dir: t.TempDir()}
		t.Cleanup(p.Stop)
		config, err := p.write("prometheus.yaml", fmt.Sprintf(histogramsConfig, rules+"/[knps]*.yaml", forms[i].settings, kubeflap))
		if err != nil {
			t.Fatal(err)
		}
		p.Prometheus, err = p.run(t.Context(), "prometheus", program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(p.dir, "prometheus"))
		if err != nil {
			t.Fatal(err)
		}
		forms[i].Paging = p
	}
	replayIncidents(t, kubeflap)
	panels := histogramPanels(t)
	if len(panels) != 6 {
		t.Errorf("found %d panels with histograms, want 6", len(panels))
	}
	for _, form := range forms {
		form.waitForSlowestTenth(t)
		for title, queries := range panels {
			form.fills(t, title, queries)
		}
		buckets, err := form.Query(t.Context(), "kubeflap_endpoints_propagation_seconds_bucket")
		if err != nil || (len(buckets) > 0) != form.classic {
			t.Errorf("%s: unexpected number of classic buckets: %d, %v", form.settings, len(buckets), err)
		}
	}
}

// histogramForm is a Prometheus with its histogram settings.
type histogramForm struct {
	settings string
	// classic reports whether Prometheus stores _bucket series.
	classic bool
	*Paging
}

// replayIncidents starts a kubeflap that replays the incidents while Prometheus scrapes it.
func replayIncidents(t *testing.T, address string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeflap")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/kubeflap")
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubeflap: %v\n%s", err, output)
	}
	process, err := cluster.StartProcess("kubeflap", filepath.Join(t.TempDir(), "kubeflap.log"),
		cluster.Command{Path: path, Args: []string{"demo", "--speed=10", "--web.listen-address=" + address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Stop)
}

// waitForSlowestTenth waits until the recording rules contain the 90th percentile of the batch upgrade's propagation
// times. It is 21 to 23 ms, depending on the buckets of each form.
func (f histogramForm) waitForSlowestTenth(t *testing.T) {
	t.Helper()
	const of = `{cluster="4-batch-upgrade"}`
	query := "cluster:kubeflap_endpoints_propagation_seconds:changes10m" + of + " > 5 and cluster:kubeflap_endpoints_propagation_seconds:p90" + of + " > 0.015 < 0.03"
	err := poll.Until(t.Context(), 2*time.Minute, f.settings, func(ctx context.Context) error {
		found, err := f.Query(ctx, query)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d series", len(found))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// histogramPanels returns the queries of the panels with histograms, by title. Grafana's variables are replaced.
func histogramPanels(t *testing.T) map[string][]string {
	t.Helper()
	filled := strings.NewReplacer("$__rate_interval", "10m", "$__interval_ms", "600000", "$__interval", "10m", "$__range", "30m",
		"$__from", fmt.Sprint(time.Now().Add(-30*time.Minute).UnixMilli()))
	variable := regexp.MustCompile(`=~"\$\w+\|?"`)
	panels := map[string][]string{}
	for _, name := range []string{"overview", "service", "node", "kubeflap"} {
		text, err := os.ReadFile("../../dashboards/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Panels []struct {
				Title, Type string
				Targets     []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatal(err)
		}
		for _, p := range dashboard.Panels {
			for _, q := range p.Targets {
				query := variable.ReplaceAllString(filled.Replace(q.Expr), `=~".*"`)
				switch {
				case p.Type == "heatmap" && strings.Contains(query, "_bucket{"):
					panels[p.Title] = append(panels[p.Title], query+" > 0")
				case p.Type == "heatmap":
					panels[p.Title] = append(panels[p.Title], "histogram_count("+query+") > 0")
				case strings.Contains(query, "_duration_seconds_count{"):
					panels[p.Title] = append(panels[p.Title], query)
				}
			}
		}
	}
	return panels
}

// fills waits until one of a panel's queries returns a result.
func (f histogramForm) fills(t *testing.T, title string, queries []string) {
	t.Helper()
	err := poll.Until(t.Context(), time.Minute, f.settings+": "+title, func(ctx context.Context) error {
		for _, query := range queries {
			if found, err := f.Query(ctx, query); err != nil || len(found) > 0 {
				return err
			}
		}
		return errors.New("the panel is empty")
	})
	if err != nil {
		t.Error(err)
	}
}
