//go:build fleet

package fleet

import (
	"context"
	_ "embed" // embeds the module file of Thanos
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	lab "github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// These variables hold embedded files.
var (
	//go:embed thanos.mod
	thanosMod string
	//go:embed thanos.sum
	thanosSum string
)

const root = "../.."

// fasterThanThePage replaces the interval in docs/fleet.md by a shorter one, to save time.
var fasterThanThePage = strings.NewReplacer("interval: 30s", "interval: 5s", "interval=30s", "interval=5s")

// fleet is three clusters and two centers. docs/fleet.md describes two ways to evaluate rules centrally. The center all
// receives all series that the rules read, and evaluates all rules. The center few only receives the series that the
// clusters record, and only evaluates kubeflap.yaml.
type fleet struct {
	t        *testing.T
	page     string
	rules    string // directory of the rules
	clusters map[string]*cluster
	all, few *center
	programs map[string]string // paths by name
}

// cluster is a kubeflap at an address and a Prometheus, which evaluates the rules, and sends series to both centers.
type cluster struct {
	address              string
	own                  *alertmanager
	kubeflap, prometheus *lab.Process
}

// center is a Thanos receiver, querier and ruler. The map at maps the addresses in docs/fleet.md to addresses on this
// machine.
type center struct {
	name         string
	alertmanager *alertmanager
	ruler        *lab.Process
	at           map[string]string
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, page: text(root + "/docs/fleet.md"), rules: t.TempDir(), clusters: map[string]*cluster{}, programs: build(t.Context())}
	for _, name := range []string{"nodes", "services", "kubeflap", "fleet"} {
		write(filepath.Join(f.rules, name+".yaml"), text(root+"/rules/"+name+".yaml"))
	}
	link := exec.CommandContext(t.Context(), "sh", "-c", f.block("Links", "sh"))
	link.Dir = f.rules
	if output, err := link.CombinedOutput(); err != nil {
		steps.Must(fmt.Errorf("%w: %s", err, output))
	}
	f.all, f.few = f.newCenter("all series", "*.yaml"), f.newCenter("few series", "kubeflap.yaml")
	for _, name := range []string{"eu", "us", "ap"} {
		f.clusters[name] = f.newCluster(name)
	}
	return f
}

// build returns the paths of the programs. Thanos is built once and kept in the user's cache.
func build(ctx context.Context) map[string]string {
	// With the tag of Thanos' own releases.
	built := lab.BuildModules(ctx, slog.Default(), "thanos", []lab.Module{{
		Mod: thanosMod, Sum: thanosSum, Tags: "remove_all_sd,slicelabels",
		Programs: map[string][]string{"thanos": {"github.com/thanos-io/thanos/cmd/thanos"}},
	}})
	return map[string]string{"prometheus": root + "/bin/prometheus", "thanos": built.Path("thanos"), "kubeflap": root + "/bin/kubeflap"}
}

func text(path string) string { return string(steps.Value(os.ReadFile(path))) }

func write(path, text string) { steps.Must(os.WriteFile(path, []byte(text), 0o600)) }

// block returns the code block below a heading of docs/fleet.md.
func (f *fleet) block(heading, language string) string {
	_, after, _ := strings.Cut(f.page, "\n### "+heading+"\n")
	_, after, found := strings.Cut(after, "```"+language+"\n")
	before, _, closed := strings.Cut(after, "```\n")
	if !found || !closed {
		steps.Must(fmt.Errorf("docs/fleet.md has no %s block below %q", language, heading))
	}
	return before
}

// newCenter runs the commands from docs/fleet.md.
func (f *fleet) newCenter(name, rules string) *center {
	c := &center{name: name, alertmanager: newAlertmanager(f.t), at: map[string]string{}}
	c.at["alertmanager.example.org:9093"] = c.alertmanager.address
	commands := strings.NewReplacer("\\\n", "", "'", "").Replace(f.block("Receiver, querier and ruler", "sh"))
	for line := range strings.Lines(placed(fasterThanThePage.Replace(commands), c.at)) {
		args, here := strings.Fields(line)[1:], strings.NewReplacer("/var/thanos", f.t.TempDir(), "/etc/kubeflap/*.yaml", f.rules+"/"+rules)
		for i := range args {
			args[i] = here.Replace(args[i])
		}
		component := args[0]
		switch component {
		case "receive": // two receivers on one machine need different ports
			args = append(args, "--receive.capnproto-address="+lab.FreePort())
		case "rule": // send alerts again as often as the clusters' own Prometheus servers
			args = append(args, "--resend-delay=5s")
		}
		c.ruler = f.start("thanos "+component+" of "+name, "thanos", args...) // the last command is the ruler
		ready(f.t, c.ruler, c.at[component+".example.org:10902"])
	}
	return c
}

func (f *fleet) newCluster(name string) *cluster {
	c := &cluster{own: newAlertmanager(f.t), address: lab.FreePort()}
	own := map[string]string{"alertmanager.example.org:9093": c.own.address, "kubeflap.kubeflap.svc:9969": c.address}
	text := placed(f.block("Prometheus in each cluster", "yaml"), own) + placed(f.block("Series for all rules", "yaml"), f.all.at) +
		strings.TrimPrefix(placed(f.block("Series for KubeflapDown", "yaml"), f.few.at), "remote_write:\n")
	directory, listen := f.t.TempDir(), lab.FreePort()
	config := filepath.Join(directory, "prometheus.yaml")
	write(config, strings.NewReplacer("/etc/kubeflap", f.rules, "cluster: eu", "cluster: "+name).Replace(fasterThanThePage.Replace(text)))
	c.prometheus = f.start("Prometheus of "+name, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(directory, "data"),
		"--web.listen-address="+listen, "--rules.alert.resend-delay=5s")
	ready(f.t, c.prometheus, listen)
	return c
}

// alertmanager stores the alerts from one sender. Like a real Alertmanager, it identifies an alert by its labels.
type alertmanager struct {
	address string

	mu     sync.Mutex
	alerts map[string]alert
}

// alert is an alert with the times at which it started to fire. There are several if it was resolved and fired again.
type alert struct {
	labels map[string]string
	starts map[time.Time]bool
	text   string // the newest annotations
	now    bool   // whether it is firing
}

func newAlertmanager(t *testing.T) *alertmanager {
	a := &alertmanager{alerts: map[string]alert{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.address = strings.TrimPrefix(server.URL, "http://")
	return a
}

// ServeHTTP implements the endpoint of Alertmanager's API that receives alerts.
func (a *alertmanager) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var posted []struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	if err := json.NewDecoder(request.Body).Decode(&posted); err != nil || request.URL.Path != "/api/v2/alerts" {
		http.Error(w, fmt.Sprint(request.URL, err), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range posted {
		key := fmt.Sprint(x.Labels)
		starts := map[time.Time]bool{x.StartsAt: true}
		for at := range a.alerts[key].starts {
			starts[at] = true
		}
		a.alerts[key] = alert{x.Labels, starts, fmt.Sprint(x.Annotations), x.EndsAt.After(time.Now())}
	}
}

// of returns all alerts of a cluster.
func (a *alertmanager) of(cluster string) map[string]alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]alert{}
	for key, x := range a.alerts {
		if x.labels["cluster"] == cluster {
			all[key] = x
		}
	}
	return all
}

var address = regexp.MustCompile(`[a-z.]+\.(?:example\.org|svc):\d+`)

// placed replaces each address in a text by an address on this machine. It adds addresses that are not in the map at.
func placed(text string, at map[string]string) string {
	return address.ReplaceAllStringFunc(text, func(name string) string {
		if _, ok := at[name]; !ok {
			at[name] = lab.FreePort()
		}
		return at[name]
	})
}

// start runs a program.
func (f *fleet) start(name, program string, args ...string) *lab.Process {
	p := lab.StartProcess(name, filepath.Join(f.t.TempDir(), "log"), lab.Command{Path: f.programs[program], Args: args})
	f.t.Cleanup(p.Stop)
	return p
}

// until waits until check returns nil. It fails if the process exits or the timeout is over.
func until(t *testing.T, p *lab.Process, what string, timeout time.Duration, check func(context.Context) error) {
	steps.Must(p.Until(t.Context(), timeout, what, check))
}

func ready(t *testing.T, p *lab.Process, address string) {
	until(t, p, p.Name+" to be ready", 3*time.Minute, func(ctx context.Context) error {
		_, err := fetch.Body(ctx, "http://"+address+"/-/ready")
		return err
	})
}
