package session

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// startTimeout is how long kubeflap may take to see the whole cluster.
const startTimeout = 30 * time.Second

// startKubeflap starts kubeflap, and its recording if wanted, and waits until
// they have seen everything there is.
func (s *Session) startKubeflap(ctx context.Context) error {
	address, err := freePort()
	if err != nil {
		return err
	}
	run, err := s.start("kubeflap", "run", "--kubeconfig="+s.Cluster.Kubeconfig, "--web.listen-address="+address)
	if err != nil {
		return err
	}
	s.URL = "http://" + address
	s.lab.URL = s.URL
	err = waitFor(ctx, run, "kubeflap to be ready", func(ctx context.Context) error { return compare.Ready(ctx, s.URL) })
	if err != nil || s.options.Save == "" {
		return err
	}
	return s.startRecording(ctx)
}

// freePort is an address on loopback that nothing listens on.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func (s *Session) start(name string, args ...string) (*cluster.Process, error) {
	p, err := cluster.StartProcess(name, s.Cluster.LogPath(name), cluster.Command{Path: s.options.Kubeflap, Args: args})
	if err != nil {
		return nil, err
	}
	s.kubeflap = append(s.kubeflap, p)
	return p, nil
}

// waitFor polls, and gives up at once when the process has ended.
func waitFor(ctx context.Context, p *cluster.Process, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := poll.Until(ctx, startTimeout, what, func(ctx context.Context) error {
		err := check(ctx)
		if p.Alive() != nil {
			cancel()
		}
		return err
	})
	if err == nil {
		return nil
	}
	if dead := p.Alive(); dead != nil {
		return dead
	}
	return fmt.Errorf("%w\nthe log of %s ends with:\n%s", err, p.Name, p.LogTail())
}
