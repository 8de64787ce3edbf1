// Package session runs a scenario with everything around it: a cluster, the
// recorder of the truth, and kubeflap if there is one to be tested.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// patience is how long kubeflap may take to tell what the truth tells.
	patience = 10 * time.Second
	// nextScrape is when the next scrape may come at the earliest.
	nextScrape = 500 * time.Millisecond
)

// Options is what a session may be told.
type Options struct {
	// Kubeflap is the binary to test; without one only the truth is recorded.
	Kubeflap string
	// Save is a file for a recording by kubeflap, if any.
	Save string
	// Seed is for the random scenario.
	Seed uint64
	Log  *slog.Logger
}

// Session is a running scenario.
type Session struct {
	Cluster *cluster.Cluster
	// Truth is what is counted; it starts together with kubeflap.
	Truth *truth.Recorder
	// URL is where kubeflap listens; empty without kubeflap.
	URL string

	options  Options
	title    string
	kubeflap []*cluster.Process
	cancel   context.CancelFunc
}

// Run starts everything, lets the scenario happen and compares what was counted.
// The caller must call Stop, even after an error: what is still there may tell why.
func Run(ctx context.Context, s scenario.Scenario, options Options) (*Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	session := &Session{options: options, title: s.Summary, cancel: cancel}
	clusterOptions := s.Options
	clusterOptions.Log = options.Log
	c, err := cluster.Start(ctx, clusterOptions)
	if err != nil {
		return session, err
	}
	session.Cluster = c
	lab := &scenario.Lab{Cluster: c, Client: c.Client, Log: options.Log, Seed: options.Seed}
	if s.Prepare != nil {
		if err := s.Prepare(ctx, lab); err != nil {
			return session, fmt.Errorf("prepare %s: %w", s.Name, err)
		}
	}
	if err := session.startWatchers(ctx); err != nil {
		return session, err
	}
	lab.Truth = session.Truth
	options.Log.Info("scenario starts", "scenario", s.Name)
	if err := s.Run(ctx, lab); err != nil {
		return session, fmt.Errorf("run %s: %w", s.Name, err)
	}
	options.Log.Info("scenario is over", "scenario", s.Name)
	return session, session.compare(ctx, s)
}

// startWatchers starts the recorder and kubeflap while no kubelet can move, so
// that both have the same baseline and their counts can be equal to the last one.
func (s *Session) startWatchers(ctx context.Context) (err error) {
	for _, kubelet := range s.Cluster.Kubelets {
		if err := kubelet.Pause(); err != nil {
			return err
		}
		defer func() {
			if e := kubelet.Resume(); err == nil {
				err = e
			}
		}()
	}
	// What a kubelet had just sent still has to arrive.
	if err := poll.Sleep(ctx, 100*time.Millisecond); err != nil {
		return err
	}
	s.Truth, err = truth.Start(ctx, s.Cluster.Client)
	if err != nil {
		return fmt.Errorf("start the recorder: %w", err)
	}
	if s.options.Kubeflap == "" {
		return nil
	}
	return s.startKubeflap(ctx)
}

func (s *Session) compare(ctx context.Context, of scenario.Scenario) error {
	if s.URL == "" {
		_, err := s.Truth.Counts()
		return err
	}
	if of.NextScrape {
		if err := poll.Sleep(ctx, nextScrape); err != nil {
			return err
		}
		return compare.Once(ctx, s.Truth, s.MetricsURL())
	}
	return compare.Agree(ctx, s.Truth, s.MetricsURL(), patience)
}

// MetricsURL is where to scrape kubeflap.
func (s *Session) MetricsURL() string { return s.URL + "/metrics" }

// Stop ends kubeflap in order, so that a recording is complete, and then the rest.
func (s *Session) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var failed error
	for _, p := range s.kubeflap {
		if err := p.Terminate(ctx); err != nil && failed == nil {
			failed = err
		}
		p.Stop()
	}
	s.cancel()
	if s.Cluster != nil {
		s.Cluster.Stop()
	}
	return failed
}
