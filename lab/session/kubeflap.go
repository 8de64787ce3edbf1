package session

import (
	"context"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
)

// startKubeflap starts kubeflap, and its recording if wanted, and waits until
// they have seen everything there is.
func (s *Session) startKubeflap(ctx context.Context) error {
	address, err := cluster.FreePort()
	if err != nil {
		return err
	}
	run, err := s.start("kubeflap", "run", "--kubeconfig="+s.account, "--web.listen-address="+address)
	if err != nil {
		return err
	}
	s.URL = "http://" + address
	s.lab.URL = s.URL
	err = run.Until(ctx, patience, "kubeflap to be ready", func(ctx context.Context) error { return compare.Ready(ctx, s.URL) })
	if err != nil || s.options.Save == "" {
		return err
	}
	return s.startRecording(ctx)
}

func (s *Session) start(name string, args ...string) (*cluster.Process, error) {
	p, err := cluster.StartProcess(name, s.Cluster.LogPath(name), cluster.Command{Path: s.options.Kubeflap, Args: args})
	if err != nil {
		return nil, err
	}
	s.kubeflap = append(s.kubeflap, p)
	return p, nil
}
