// Package session runs a scenario with a cluster and the recorder. If there is a kubeflap binary to test, it also runs
// this binary.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/paging"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// patience is the timeout for an expected state. Most states appear immediately, but the machine may be busy.
	patience = 2 * time.Minute
	// nextScrape is the time within which Prometheus scrapes at least once.
	nextScrape = paging.Interval
)

// Options configures a session.
type Options struct {
	// Kubeflap is the path of the binary to test. If it is empty, only the recorder runs.
	Kubeflap string
	// Manifest is the path of the manifest with kubeflap's ServiceAccount and permissions.
	Manifest string
	// Save is the path to which kubeflap writes a recording. If it is not empty, a replay of the recording must also
	// agree with the recorder.
	Save string
	// Facts is the path of a file for the recorder's facts, compressed with gzip. It needs Save, because the facts end
	// together with the recording.
	Facts string
	// Raw is the path of a file for the bytes of the watches (see package rawwatch), compressed with gzip.
	Raw string
	// Rules is the directory of the alert rules. If Rules is not empty, Prometheus and Alertmanager also run.
	Rules string
	// Seconds describes additional kubeflap instances. For each element, the session starts an instance whose watches
	// have these delays. At the end, all instances must report the same.
	Seconds []Delays
	// Seed is the seed of the random scenario.
	Seed uint64
	// Turns limits how many sessions start at the same time. Its capacity is the limit, and nil means no limit. While a
	// session starts, it uses all CPUs and pauses the kubelets. Too many starts at once would make heartbeats late.
	Turns chan struct{}
	Log   *slog.Logger
}

// Session is a running scenario.
type Session struct {
	Cluster *cluster.Cluster
	// Truth is the recorder. The session starts it together with kubeflap.
	Truth *truth.Recorder
	// URL is kubeflap's URL. It is empty if kubeflap is not running.
	URL string
	// Paging runs Prometheus and Alertmanager. It is nil without alert rules.
	Paging *paging.Paging

	// ReportedIncident is the cause of the reported incident. ReportedCauses holds, by Service, the causes of lost
	// addresses.
	ReportedIncident string
	ReportedCauses   map[string]string

	options   Options
	scenario  scenario.Scenario
	lab       *scenario.Lab
	base      compare.Base
	kubeflap  []*cluster.Process
	proxies   []*proxy.Proxy
	instances instances
	pager     *pager
	// account is the path of a kubeconfig with kubeflap's permissions.
	account string
	// record is the kubeflap process that writes the recording.
	record *cluster.Process
	facts  facts
	raw    *rawRecording
	cancel context.CancelFunc
}

// Run starts everything, runs the scenario and compares the counts. The session keeps running after Run, even after an
// error, so that it can be inspected. The caller must call Stop.
func Run(ctx context.Context, s scenario.Scenario, options Options) (*Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	session := &Session{options: options, scenario: s, cancel: cancel}
	session.facts = facts{path: options.Facts, scenario: &session.scenario}
	if err := session.begin(ctx); err != nil {
		return session, err
	}
	if err := session.play(ctx); err != nil {
		return session, err
	}
	if s.Blind != nil {
		if err := session.facts.endFirstSegment(ctx, session.comparison()); err != nil {
			return session, err
		}
		if err := session.playAfterBlindness(ctx); err != nil {
			return session, err
		}
	}
	if err := session.replay(ctx); err != nil {
		return session, err
	}
	if err := session.pager.check(ctx); err != nil {
		return session, err
	}
	return session, session.instances.waitForSameReports(ctx)
}

// begin waits until Options.Turns allows a start, and then starts everything.
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
	s.lab = &scenario.Lab{Cluster: s.Cluster, Client: s.Cluster.Client, Log: s.options.Log, Seed: s.options.Seed}
	if s.scenario.Prepare != nil {
		if err := s.lab.Play(ctx, s.scenario.Prepare); err != nil {
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

// play runs the scenario once, and compares the counts.
func (s *Session) play(ctx context.Context) error {
	s.lab.Truth = s.Truth
	if s.instances.rest != nil {
		if err := s.lab.Play(ctx, (*scenario.Lab).WaitForHeartbeats); err != nil {
			return err
		}
		if err := s.instances.readLate(ctx); err != nil {
			return fmt.Errorf("read the metrics before %s: %w", s.scenario.Name, err)
		}
	}
	s.options.Log.Info("scenario starts", "scenario", s.scenario.Name)
	seen := s.pager.watchForIncident(ctx)
	err := s.lab.Play(ctx, s.scenario.Run)
	defer seen()
	if err != nil {
		return fmt.Errorf("run scenario %s: %w", s.scenario.Name, err)
	}
	if s.pager != nil {
		s.pager.over = time.Now()
	}
	s.options.Log.Info("scenario has ended", "scenario", s.scenario.Name)
	return s.judge(ctx)
}

// playAfterBlindness breaks kubeflap's watches and then runs the scenario again. It uses a new recorder, because the
// first recorder may have missed events.
func (s *Session) playAfterBlindness(ctx context.Context) (err error) {
	s.raw.breakWatches()
	if err := s.lab.Play(ctx, s.scenario.Blind); err != nil {
		return fmt.Errorf("break the watches in scenario %s: %w", s.scenario.Name, err)
	}
	if err := s.raw.begin(ctx); err != nil {
		return err
	}
	if s.Truth, err = truth.Start(ctx, s.Cluster.Client); err != nil {
		return fmt.Errorf("start a new recorder: %w", err)
	}
	s.lab.Truth = s.Truth
	// The recorder measures an interval only if it has seen the heartbeats at both ends.
	if err := s.lab.Play(ctx, (*scenario.Lab).WaitForHeartbeats); err != nil {
		return err
	}
	err = s.withWritersPaused(ctx, func() (err error) {
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

// startWatchers starts the recorder and kubeflap while nothing writes to the API server. They start with the same
// state, so their counts can be exactly equal.
func (s *Session) startWatchers(ctx context.Context) error {
	return s.withWritersPaused(ctx, func() (err error) {
		if err := s.startRaw(ctx); err != nil {
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
	})
}

// Paged returns the delays of pages.
func (s *Session) Paged() []Paged {
	if s.pager == nil {
		return nil
	}
	return s.pager.paged
}

// MetricsURL returns the URL of kubeflap's metrics.
func (s *Session) MetricsURL() string { return s.URL + "/metrics" }

// Stop first stops kubeflap gracefully, so that a recording is complete. Then it stops everything else.
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
