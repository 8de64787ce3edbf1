// Package session runs a scenario with a cluster, the recorder and a kubeflap binary to test.
package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/prometheus"
	"github.com/kubeflap/kubeflap/lab/rawwatch"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// patience is the timeout for an expected state. Most states appear immediately, but the machine may be busy.
const patience = 2 * time.Minute

// Options configures a session.
type Options struct {
	// Kubeflap is the path of the binary to test.
	Kubeflap string
	// Record is the path, without an extension, of a recording by kubeflap and of the recorder's facts, which end together
	// with the recording. Both are compressed with gzip. If it is empty, nothing is recorded.
	Record string
	// Raw means that the bytes of the watches are recorded, too (see package rawwatch).
	Raw bool
	// Alerts means that a Prometheus with the alert rules also runs.
	Alerts bool
	// Seed is the seed of the random scenario.
	Seed uint64
	Log  *slog.Logger
}

// turns lets at most two sessions start at the same time. While a session starts, it uses all CPUs and pauses the
// kubelets. Too many starts at once would make heartbeats late. Afterwards, sessions mostly wait.
var turns = make(chan struct{}, 2)

// Session is a running scenario. The fields of its Lab are set as soon as they exist.
type Session struct {
	scenario.Lab
	// Prometheus is nil unless Options.Alerts is set.
	Prometheus *prometheus.Prometheus

	options  Options
	scenario scenario.Scenario
	base     compare.Base
	kubeflap []*cluster.Process
	// fired holds the indices of the scenario's alerts that fired.
	fired map[int]bool
	// account is the path of a kubeconfig with kubeflap's permissions.
	account string
	// record is the kubeflap process that writes the recording.
	record *cluster.Process
	facts  facts
	// raw records the bytes of the watches. It is nil unless Options.Raw is set.
	raw    *rawwatch.Recorder
	cancel context.CancelFunc
}

// Run starts everything, runs the scenario and compares the counts. The session keeps running after Run, even after an
// error, so that it can be inspected. The caller must call Stop.
func Run(ctx context.Context, sc scenario.Scenario, options Options) (*Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Session{Lab: scenario.Lab{Ctx: ctx, Log: options.Log, Seed: options.Seed}, options: options, scenario: sc, fired: map[int]bool{}, cancel: cancel}
	return s, s.Play(ctx, func(*scenario.Lab) {
		s.begin()
		s.play()
		if sc.Blind != nil {
			if s.record != nil {
				s.facts.endSegment(s.Truth, &s.scenario, s.comparison().WaitUntilQuiet(ctx))
			}
			s.playAfterBlindness()
		}
		s.endRecording()
		s.checkAlerts()
	})
}

// begin waits for its turn, and then starts everything.
func (s *Session) begin() {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-s.Ctx.Done():
		s.Must(s.Ctx.Err())
	}
	clusterOptions := s.scenario.Options
	clusterOptions.Log = s.Log
	s.Cluster = steps.Value(cluster.Start(s.Ctx, clusterOptions))
	s.Client = s.Cluster.Client
	if s.scenario.Prepare != nil {
		s.Part("prepare "+s.scenario.Name, s.scenario.Prepare)
	}
	s.grantRights()
	// The recorder and kubeflap start while nothing writes to the API server. They start with the same state, so their
	// counts can be exactly equal.
	s.withWritersPaused(func() {
		if s.options.Raw {
			s.raw = rawwatch.New(s.Client.Discovery().RESTClient(), s.options.Record+".raw.gz")
			s.raw.Begin(s.Ctx)
		}
		s.Truth = truth.Start(s.Ctx, s.Client)
		s.startKubeflap()
	})
	if s.options.Alerts {
		s.startPrometheus()
	}
}

// play runs the scenario once, and compares the counts.
func (s *Session) play() {
	s.Log.Info("scenario starts", "scenario", s.scenario.Name)
	s.Part("run scenario "+s.scenario.Name, s.scenario.Run)
	s.Log.Info("scenario has ended", "scenario", s.scenario.Name)
	s.comparison().Agree(s.Ctx, patience)
	s.checkGracePeriod()
	s.checkReports()
}

// playAfterBlindness breaks kubeflap's watches and then runs the scenario again. It uses a new recorder, because the
// first recorder may have missed events.
func (s *Session) playAfterBlindness() {
	if s.raw != nil {
		s.raw.Break()
	}
	s.Part("break the watches in scenario "+s.scenario.Name, s.scenario.Blind)
	if s.raw != nil {
		s.raw.Begin(s.Ctx)
	}
	s.Truth = truth.Start(s.Ctx, s.Client)
	// The recorder measures an interval only if it has seen the heartbeats at both ends.
	s.WaitForHeartbeats()
	s.withWritersPaused(func() { s.base = s.comparison().Take(s.Ctx) })
	s.play()
}

// Stop first stops kubeflap gracefully, so that a recording is complete. Then it stops everything else.
func (s *Session) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	for _, p := range s.kubeflap {
		errs = append(errs, p.Terminate(ctx))
		p.Stop()
	}
	if s.Proxy != nil {
		s.Proxy.Stop()
	}
	if s.Prometheus != nil {
		s.Prometheus.Stop()
	}
	s.cancel()
	if s.Cluster != nil {
		s.Cluster.Stop()
	}
	return errors.Join(errs...)
}
