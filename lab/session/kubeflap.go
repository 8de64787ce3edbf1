package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// startTimeout is how long kubeflap may take to see the whole cluster.
const startTimeout = 30 * time.Second

// startKubeflap starts kubeflap, and its recording if wanted, and waits until
// they have seen everything there is.
func (s *Session) startKubeflap(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	_ = listener.Close()

	run, err := s.start("kubeflap", "run", "--kubeconfig="+s.Cluster.Kubeconfig, "--web.listen-address="+address)
	if err != nil {
		return err
	}
	s.URL = "http://" + address
	if err := waitFor(ctx, run, "kubeflap to be ready", func(ctx context.Context) error { return get(ctx, s.URL+"/-/ready") }); err != nil {
		return err
	}
	if s.options.Save == "" {
		return nil
	}
	record, err := s.start("kubeflap-record", "record", s.options.Save, "--title="+s.title, "--kubeconfig="+s.Cluster.Kubeconfig)
	if err != nil {
		return err
	}
	return waitFor(ctx, record, "the recording to begin", func(context.Context) error {
		info, err := os.Stat(s.options.Save)
		if err == nil && info.Size() == 0 {
			return errors.New("it is still empty")
		}
		return err
	})
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

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask kubeflap: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
