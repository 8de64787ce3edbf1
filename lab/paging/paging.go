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
)

// Interval is the scrape interval and the evaluation interval. It is short, so that alerts fire soon.
const Interval = 5 * time.Second

// startTimeout is long, because the machine may be compiling at the same time.
const startTimeout = 3 * time.Minute

// Options configures Paging.
type Options struct {
	// Rules is the directory with the rules and the example configuration of Alertmanager.
	Rules string
	// Kubeflap is the host and port on which kubeflap listens.
	Kubeflap string
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
	if err := p.start(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start paging: %w", err)
	}
	return p, nil
}

func (p *Paging) start(ctx context.Context) (err error) {
	prometheus, alertmanager, err := Build(ctx, p.options.Log)
	if err != nil {
		return err
	}
	if err := p.startAlertmanager(ctx, alertmanager); err != nil {
		return err
	}
	config, err := p.writePrometheusConfig()
	if err != nil {
		return err
	}
	p.Prometheus, err = p.run(ctx, "prometheus", prometheus, "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(p.dir, "prometheus"),
		// Alertmanager sends a page after group_wait, with the latest annotations from Prometheus. The annotations of
		// the first evaluation lack details about a silent node. With the default resend delay of 1m, the page would
		// still contain these first annotations.
		"--rules.alert.resend-delay=5s")
	if err != nil {
		return err
	}
	p.Since = time.Now()
	return p.some(ctx, `up{job="kubeflap"} == 1`)
}

// startAlertmanager starts the receiver, and Alertmanager with the shipped configuration.
func (p *Paging) startAlertmanager(ctx context.Context, path string) (err error) {
	if p.Receiver, err = startReceiver(); err != nil {
		return err
	}
	config, err := p.writeAlertmanagerConfig()
	if err != nil {
		return err
	}
	p.Alertmanager, err = p.run(ctx, "alertmanager", path, "--config.file="+config,
		"--storage.path="+filepath.Join(p.dir, "alertmanager"), "--cluster.listen-address=")
	return err
}

// run starts a program, and waits until it reports that it is ready.
func (p *Paging) run(ctx context.Context, name, path string, args ...string) (url string, err error) {
	address, err := cluster.FreePort()
	if err != nil {
		return "", err
	}
	process, err := cluster.StartProcess(name, filepath.Join(p.dir, name+".log"),
		cluster.Command{Path: path, Args: append(args, "--web.listen-address="+address)})
	if err != nil {
		return "", err
	}
	p.processes = append(p.processes, process)
	url = "http://" + address
	return url, process.Until(ctx, startTimeout, name+" to be ready", func(ctx context.Context) error {
		_, err := fetch.Body(ctx, url+"/-/ready")
		return err
	})
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
