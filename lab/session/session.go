// Package session runs a scenario with everything around it: a cluster, the
// recorder of the truth, and kubeflap if there is one to be tested.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/paging"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// patience is for all that must come, and mostly comes at once: a machine that builds at the same time is
	// slow, which says nothing about kubeflap.
	patience = 2 * time.Minute
	// nextScrape is when the next scrape comes.
	nextScrape = paging.Interval
	// measurePeriod is how often times are compared during the scenario.
	measurePeriod = time.Second
)

// Options is what a session may be told.
type Options struct {
	// Kubeflap is the binary to test; without one only the truth is recorded.
	Kubeflap string
	// Manifest is the file with kubeflap's ServiceAccount and rights, with which it runs.
	Manifest string
	// Save is a file for a recording by kubeflap, if any. Its replay must then agree
	// with the truth too.
	Save string
	// Rules is the folder of the alert rules; with it Prometheus and Alertmanager run too.
	Rules string
	// Seconds are kubeflaps beside the first whose watches are late: all must tell the same in the end.
	Seconds []Delays
	// Seed is for the random scenario.
	Seed uint64
	// Turns has room for the sessions that may start at the same time; nil is no limit. To start takes all the CPU there is,
	// while a scenario mostly waits. And no kubelet may be paused for so long that its heartbeat is late.
	Turns chan struct{}
	Log   *slog.Logger
}

// Session is a running scenario.
type Session struct {
	Cluster *cluster.Cluster
	// Truth is what is counted; it starts together with kubeflap.
	Truth *truth.Recorder
	// URL is where kubeflap listens; empty without kubeflap.
	URL string
	// Apart is how far kubeflap and the truth were apart on times.
	Apart compare.Apart
	// Paging is what pages, and Paged is what it was compared with; nil without rules.
	Paging *paging.Paging
	Paged  []Paged

	// ToldIncident is the cause of the incident that kubeflap told; ToldCauses those of what each
	// Service lost, and Lag for how long at most a loss was shown without its cause.
	ToldIncident string
	ToldCauses   map[string]string
	Lag          time.Duration

	options  Options
	scenario scenario.Scenario
	lab      *scenario.Lab
	base     compare.Base
	kubeflap []*cluster.Process
	proxies  []*proxy.Proxy
	// late are the metrics of each kubeflap when the scenario started.
	late    map[string]truth.Counts
	seconds []second
	// account is a kubeconfig with kubeflap's rights.
	account string
	// record is the one of them that records.
	record *cluster.Process
	// visible is when kubeflap told the scenario's incident first.
	visible time.Time
	// over is when the scenario was.
	over   time.Time
	cancel context.CancelFunc
}

// Run starts everything, lets the scenario happen and compares what was counted.
// The caller must call Stop, even after an error: what is still there may tell why.
func Run(ctx context.Context, s scenario.Scenario, options Options) (*Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	session := &Session{options: options, scenario: s, cancel: cancel}
	if err := session.begin(ctx); err != nil {
		return session, err
	}
	if err := session.play(ctx); err != nil {
		return session, err
	}
	if s.Blind != nil {
		if err := session.playAfterBlindness(ctx); err != nil {
			return session, err
		}
	}
	if err := session.replay(ctx); err != nil {
		return session, err
	}
	if err := session.pages(ctx); err != nil {
		return session, err
	}
	return session, session.tellTheSame(ctx)
}

// begin starts everything, when it is its turn.
func (s *Session) begin(ctx context.Context) (err error) {
	if s.options.Turns != nil {
		select {
		case s.options.Turns <- struct{}{}:
			defer func() { <-s.options.Turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	clusterOptions := s.scenario.Options
	clusterOptions.Log = s.options.Log
	if s.Cluster, err = cluster.Start(ctx, clusterOptions); err != nil {
		return err
	}
	s.lab = scenario.NewLab(s.Cluster, s.options.Log, s.options.Seed)
	if s.scenario.Prepare != nil {
		if err := s.scenario.Prepare(ctx, s.lab); err != nil {
			return fmt.Errorf("prepare %s: %w", s.scenario.Name, err)
		}
	}
	if err := s.grantRights(ctx); err != nil {
		return err
	}
	if err := s.startWatchers(ctx); err != nil {
		return err
	}
	return s.startPaging(ctx)
}

// play lets the scenario happen once and compares what was counted.
func (s *Session) play(ctx context.Context) error {
	s.lab.Truth = s.Truth
	var err error
	if s.late, err = s.lateBeforeStart(ctx); err != nil {
		return fmt.Errorf("before %s: %w", s.scenario.Name, err)
	}
	s.options.Log.Info("scenario starts", "scenario", s.scenario.Name)
	stop, seen := s.measure(ctx), s.watchForIncident(ctx)
	stopLag := s.lag(ctx)
	err = s.scenario.Run(ctx, s.lab)
	stopLag()
	defer seen()
	if err != nil {
		return errors.Join(fmt.Errorf("run %s: %w", s.scenario.Name, err), stop())
	}
	s.over = time.Now()
	s.options.Log.Info("scenario is over", "scenario", s.scenario.Name)
	// What is told late, because it waited for evidence, may not go back in time either.
	return errors.Join(s.judge(ctx), stop())
}

// judge compares what kubeflap makes of the scenario with what it was.
func (s *Session) judge(ctx context.Context) error {
	if err := s.compare(ctx); err != nil {
		return err
	}
	if err := s.knowsGracePeriod(ctx); err != nil {
		return err
	}
	return s.tellsWhy(ctx)
}

// playAfterBlindness breaks the watches and lets the scenario happen again, with a new
// recorder: the old one may have missed something, and nobody could tell what.
func (s *Session) playAfterBlindness(ctx context.Context) (err error) {
	if err := s.scenario.Blind(ctx, s.lab); err != nil {
		return fmt.Errorf("blind %s: %w", s.scenario.Name, err)
	}
	if s.Truth, err = truth.Start(ctx, s.Cluster.Client); err != nil {
		return fmt.Errorf("start a new recorder: %w", err)
	}
	s.lab.Truth = s.Truth
	// The recorder counts an interval when it has seen both of its ends.
	if err := s.lab.EveryNodeBeats(ctx); err != nil {
		return err
	}
	err = s.whileNothingMoves(ctx, func() (err error) {
		if s.URL != "" {
			s.base, err = s.comparison().Take(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.play(ctx)
}

// measure compares times until the returned function is called, which says what went back in time.
func (s *Session) measure(ctx context.Context) (stop func() error) {
	if s.URL == "" {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var apart compare.Apart
	result := make(chan error)
	go func() {
		var wentBack error
		apart, wentBack = s.comparison().Measure(ctx, measurePeriod)
		result <- wentBack
	}()
	return func() error {
		cancel()
		wentBack := <-result
		s.Apart = s.Apart.Join(apart)
		return wentBack
	}
}

// startWatchers starts the recorder and kubeflap while no kubelet can move, so
// that both have the same baseline and their counts can be equal to the last one.
func (s *Session) startWatchers(ctx context.Context) error {
	return s.whileNothingMoves(ctx, func() (err error) {
		s.Truth, err = truth.Start(ctx, s.Cluster.Client)
		if err != nil {
			return fmt.Errorf("start the recorder: %w", err)
		}
		if s.options.Kubeflap == "" {
			return nil
		}
		return s.startKubeflap(ctx)
	})
}

func (s *Session) compare(ctx context.Context) error {
	if s.URL == "" {
		_, err := s.Truth.Counts()
		return err
	}
	if s.scenario.NextScrape {
		if err := poll.Sleep(ctx, nextScrape); err != nil {
			return err
		}
		return s.comparison().Once(ctx)
	}
	return s.comparison().Agree(ctx, patience)
}

// knowsGracePeriod checks that kubeflap knows it: by the controller manager's flag, or the release's default.
func (s *Session) knowsGracePeriod(ctx context.Context) error {
	is, shown := s.Cluster.GracePeriod()
	if s.URL == "" || !shown {
		return nil
	}
	told, err := compare.Scrape(ctx, s.MetricsURL())
	if err != nil {
		return err
	}
	if known := told.Sum("kubeflap_node_monitor_grace_period_seconds"); known != is.Seconds() {
		return fmt.Errorf("kubeflap takes the grace period for %v s, it is %s", known, is)
	}
	return nil
}

func (s *Session) comparison() compare.Comparison {
	return compare.Comparison{Truth: s.Truth, URL: s.MetricsURL(), Base: s.base}
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
	for _, p := range s.proxies {
		p.Stop()
	}
	if s.Paging != nil {
		s.Paging.Stop()
	}
	s.cancel()
	if s.Cluster != nil {
		s.Cluster.Stop()
	}
	return failed
}
