// Package paging lets a real Prometheus evaluate the shipped rules over a running
// kubeflap, and a real Alertmanager with the shipped example page a receiver.
package paging

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Interval is between two scrapes, and between two evaluations: short, so that a person
// need not wait long.
const Interval = 5 * time.Second

// startTimeout is generous: a machine that builds at the same time is slow.
const startTimeout = 3 * time.Minute

// Options is what to page about.
type Options struct {
	// Rules is the folder with the rules and Alertmanager's example.
	Rules string
	// Kubeflap is where kubeflap listens, host and port.
	Kubeflap string
	// Kubeconfig is for Prometheus, to find the addresses of Services.
	Kubeconfig string
	Log        *slog.Logger
}

// Paging is a running Prometheus and Alertmanager with a receiver.
type Paging struct {
	// Prometheus and Alertmanager are their URLs.
	Prometheus, Alertmanager string
	Receiver                 *Receiver
	// Since is when Prometheus was ready.
	Since time.Time
	// GroupWait is how long Alertmanager holds the first message of a group back at most.
	GroupWait time.Duration

	options   Options
	dir       string
	processes []*cluster.Process
}

// Start builds both if needed, starts them and returns when Prometheus has scraped
// kubeflap: a counter's first sample is what later ones are compared with. The caller
// must call Stop.
func Start(ctx context.Context, options Options) (*Paging, error) {
	dir, err := os.MkdirTemp("", "kubeflap-lab-paging-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for Prometheus and Alertmanager: %w", err)
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
	if p.Receiver, err = startReceiver(); err != nil {
		return err
	}
	config, err := p.writeAlertmanagerConfig()
	if err != nil {
		return err
	}
	p.Alertmanager, err = p.run(ctx, "alertmanager", alertmanager, "--config.file="+config,
		"--storage.path="+filepath.Join(p.dir, "alertmanager"), "--cluster.listen-address=")
	if err != nil {
		return err
	}
	if config, err = p.writePrometheusConfig(); err != nil {
		return err
	}
	p.Prometheus, err = p.run(ctx, "prometheus", prometheus, "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(p.dir, "prometheus"),
		// A page is sent when group_wait is over, with the texts of the last resend. With the default of 1m that is the first text,
		// which says less if the node is not back yet.
		"--rules.alert.resend-delay=5s")
	if err != nil {
		return err
	}
	p.Since = time.Now()
	return p.some(ctx, `up{job="kubeflap"} == 1`)
}

// run starts a program and waits until it says that it is ready.
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
		return get(ctx, url+"/-/ready", nil)
	})
}

// Alive is nil while both run.
func (p *Paging) Alive() error {
	for _, process := range p.processes {
		if err := process.Alive(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends everything and removes its data.
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
