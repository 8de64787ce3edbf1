package session

import (
	"context"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
)

// startKubeflap starts the kubeflap under test and, if requested, additional instances and a recording. It waits until
// all of them have seen all objects.
func (s *Session) startKubeflap(ctx context.Context) (err error) {
	through := s.account
	if s.scenario.Proxied {
		if s.lab.Proxy, through, err = s.startProxy("kubeflap"); err != nil {
			return err
		}
	}
	if s.URL, err = s.startOne(ctx, "kubeflap", through); err != nil {
		return err
	}
	s.lab.URL = s.URL
	if err := s.startSeconds(ctx); err != nil || s.options.Save == "" {
		return err
	}
	return s.startRecording(ctx, through)
}

// startOne starts a kubeflap process and waits until it is ready.
func (s *Session) startOne(ctx context.Context, name, kubeconfig string) (url string, err error) {
	address, err := cluster.FreePort()
	if err != nil {
		return "", err
	}
	run, err := s.start(name, "run", "--kubeconfig="+kubeconfig, "--web.listen-address="+address)
	if err != nil {
		return "", err
	}
	url = "http://" + address
	return url, run.Until(ctx, patience, name+" to be ready", func(ctx context.Context) error { return compare.Ready(ctx, url) })
}

func (s *Session) start(name string, args ...string) (*cluster.Process, error) {
	p, err := cluster.StartProcess(name, s.Cluster.LogPath(name), cluster.Command{Path: s.options.Kubeflap, Args: args})
	if err != nil {
		return nil, err
	}
	s.kubeflap = append(s.kubeflap, p)
	return p, nil
}
