// Package paging runs a real Prometheus and a real Alertmanager, and receives the pages. Prometheus evaluates the
// shipped rules for a running kubeflap. Alertmanager uses the shipped example configuration.
package paging

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// Interval is the scrape interval and the evaluation interval. It is short, so that alerts fire soon.
const Interval = 5 * time.Second

// startTimeout is long, because the machine may be compiling at the same time.
const startTimeout = 3 * time.Minute

// Options configures Paging.
type Options struct {
	// Rules is the directory with the rules and the example configuration of Alertmanager.
	Rules string
	// Kubeflap lists the host and port of each replica of kubeflap.
	Kubeflap []string
	// Kubeconfig is the kubeconfig with which Prometheus discovers the addresses of Services.
	Kubeconfig string
	Log        *slog.Logger
}

// Paging is a running Prometheus and Alertmanager with a receiver.
type Paging struct {
	// Prometheus and Alertmanager are the URLs of the two servers.
	Prometheus, Alertmanager string
	Receiver                 *Receiver
	// Since is the time at which Prometheus became ready.
	Since time.Time
	// GroupWait is the maximum group_wait of Alertmanager's routes.
	GroupWait time.Duration

	options   Options
	dir       string
	processes []*cluster.Process
}

// Start starts Prometheus and Alertmanager, and builds them if necessary. It returns when Prometheus has scraped
// kubeflap once, because PromQL shows an increase only after the first sample. The caller must call Stop.
func Start(ctx context.Context, options Options) (*Paging, error) {
	dir, err := os.MkdirTemp("", "kubeflap-lab-paging-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for Prometheus and Alertmanager: %w", err)
	}
	p := &Paging{options: options, dir: dir}
	if err := steps.Run(func() { p.start(ctx) }); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start paging: %w", err)
	}
	return p, nil
}

func (p *Paging) start(ctx context.Context) {
	prometheus, alertmanager, err := Build(ctx, p.options.Log)
	steps.Must(err)
	p.Receiver = steps.Value(startReceiver())
	p.Alertmanager = p.run(ctx, "alertmanager", alertmanager, "--config.file="+p.writeAlertmanagerConfig(),
		"--storage.path="+filepath.Join(p.dir, "alertmanager"), "--cluster.listen-address=")
	p.Prometheus = p.run(ctx, "prometheus", prometheus, "--config.file="+p.writePrometheusConfig(),
		"--storage.tsdb.path="+filepath.Join(p.dir, "prometheus"),
		// Alertmanager sends a page after group_wait, with the latest annotations from Prometheus. The annotations of
		// the first evaluation lack details about a silent node. With the default resend delay of 1m, the page would
		// still contain these first annotations.
		"--rules.alert.resend-delay=5s")
	p.Since = time.Now()
	steps.Must(p.some(ctx, `up{job="kubeflap"} == 1`))
}

// run starts a program, and waits until it reports that it is ready.
func (p *Paging) run(ctx context.Context, name, path string, args ...string) (url string) {
	address := steps.Value(cluster.FreePort())
	process := steps.Value(cluster.StartProcess(name, filepath.Join(p.dir, name+".log"),
		cluster.Command{Path: path, Args: append(args, "--web.listen-address="+address)}))
	p.processes = append(p.processes, process)
	url = "http://" + address
	steps.Must(process.Until(ctx, startTimeout, name+" to be ready", func(ctx context.Context) error {
		_, err := fetch.Body(ctx, url+"/-/ready")
		return err
	}))
	return url
}

// Alive returns nil if Prometheus and Alertmanager are running.
func (p *Paging) Alive() error {
	for _, process := range p.processes {
		if err := process.Alive(); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all programs and removes their data.
func (p *Paging) Stop() {
	for _, process := range p.processes {
		process.Stop()
	}
	if p.Receiver != nil {
		p.Receiver.stop()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.options.Log.Warn("cannot remove the data of Prometheus and Alertmanager", "dir", p.dir, "err", err)
	}
}
