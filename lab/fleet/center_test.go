//go:build fleet

package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	lab "github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
)

// center is a Thanos receiver, querier and ruler.
type center struct {
	name         string
	alertmanager *alertmanager
	ruler        *lab.Process
	// querier is the address of the querier.
	querier string
	// at maps the addresses in docs/fleet.md to addresses on this machine.
	at map[string]string
}

func newCenter(t *testing.T, p page, name, rules string) *center {
	t.Helper()
	c := &center{name: name, alertmanager: newAlertmanager(t), at: map[string]string{}}
	c.at["alertmanager.example.org:9093"] = c.alertmanager.address
	c.thanos(t, p, "receive", rules)
	c.thanos(t, p, "query", rules)
	c.ruler = c.thanos(t, p, "rule", rules)
	c.querier = c.at["query.example.org:10902"]
	return c
}

// thanos starts a Thanos component with the arguments from docs/fleet.md.
func (c *center) thanos(t *testing.T, p page, component, rules string) *lab.Process {
	t.Helper()
	args := p.thanos[component]
	if len(args) == 0 {
		t.Fatalf("docs/fleet.md contains no command thanos %s", component)
	}
	text := placed(t, strings.Join(args, "\n"), c.at)
	text = strings.NewReplacer("/var/thanos", t.TempDir(), "/etc/kubeflap/*.yaml", rules, "interval="+pageInterval, "interval="+interval).Replace(text)
	args = strings.Split(text, "\n")
	switch component {
	case "receive": // two receivers on one machine need different ports
		args = append(args, "--receive.capnproto-address="+freeAddress(t))
	case "rule": // send alerts again as often as the clusters' own Prometheus servers
		args = append(args, "--resend-delay="+interval)
	}
	process := start(t, "thanos "+component+" of "+c.name, "thanos", args...)
	ready(t, process, c.at[component+".example.org:10902"])
	return process
}

// checkEvaluations checks that the ruler has evaluated rules without errors.
func (c *center) checkEvaluations(t *testing.T) {
	t.Helper()
	text, err := fetch.Body(t.Context(), "http://"+c.at["rule.example.org:10902"]+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	groups := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "prometheus_rule_evaluation_failures_total{") {
			continue
		}
		groups++
		if !strings.HasSuffix(line, " 0\n") {
			t.Errorf("%s: %s", c.name, line)
		}
	}
	if groups == 0 {
		t.Errorf("%s: the ruler has evaluated no rules", c.name)
	}
}

// cluster is a kubeflap and a Prometheus. Prometheus evaluates the rules, and writes its series to the receivers of
// both centers.
type cluster struct {
	t          *testing.T
	address    string // address of kubeflap
	own        *alertmanager
	kubeflap   *lab.Process
	prometheus *lab.Process
}

func newCluster(t *testing.T, p page, name, rules string, all, few map[string]string) *cluster {
	t.Helper()
	c := &cluster{t: t, own: newAlertmanager(t), address: freeAddress(t)}
	own := map[string]string{"alertmanager.example.org:9093": c.own.address, "kubeflap.kubeflap.svc:9969": c.address}
	text := placed(t, p.prometheus, own) + placed(t, p.all, all) + strings.TrimPrefix(placed(t, p.few, few), "remote_write:\n")
	text = strings.NewReplacer("/etc/kubeflap", rules, "cluster: eu", "cluster: "+name, "interval: "+pageInterval, "interval: "+interval).Replace(text)
	directory := t.TempDir()
	config := filepath.Join(directory, "prometheus.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	c.prometheus = start(t, "Prometheus of "+name, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(directory, "data"),
		"--web.listen-address="+listen, "--rules.alert.resend-delay="+interval)
	ready(t, c.prometheus, listen)
	return c
}
