package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// checkPeriod is the interval between two checks of kubeflap during a fault.
	checkPeriod = time.Second
	// slack is the maximum time by which a fault is prolonged. On a slow machine, kubeflap can take this long to report
	// that it is blind.
	slack = time.Minute
)

// watchFaultCheck checks kubeflap while a fault breaks its watches. The recorder's watches still work.
type watchFaultCheck struct {
	*blindness
	fault watchFault
	// from is the time at which the fault began. incidents holds the IDs of the incidents before the fault.
	from      time.Time
	incidents map[string]bool
	// coverage is the last value of coverage.not_watched in the API.
	coverage []byte
}

// runWatchFault runs a fault for the given duration, and returns when kubeflap's reports are correct again.
func (l *Lab) runWatchFault(ctx context.Context, f watchFault) error {
	if l.URL == "" {
		return nil // without kubeflap there is nothing to check
	}
	b, err := l.beforeFault(ctx, f)
	if err != nil {
		return err
	}
	f.begin(l)
	b.from = time.Now()
	// If a check fails during the fault, still check how kubeflap recovers.
	during := b.checkDuringFault(ctx)
	f.end(l)
	ended := time.Now()
	back := b.reportsTruthAgain(ctx)
	l.Log.Info("the fault has ended", "fault", f.name, "lasted", ended.Sub(b.from).Round(time.Millisecond),
		"truth after", time.Since(ended).Round(time.Millisecond), "failed", back != nil)
	if err := poll.Sleep(ctx, catchUp); err != nil {
		return err
	}
	if b.reported, err = l.scrape(ctx); err != nil {
		return err
	}
	for _, resource := range f.blind {
		l.Log.Info("blind", "resource", resource, "seconds", b.reported.Sum(watchBlind, "resource", resource)-b.before.Sum(watchBlind, "resource", resource))
	}
	return errors.Join(during, back, b.checkNoFalseReports(ctx))
}

func (l *Lab) beforeFault(ctx context.Context, f watchFault) (*watchFaultCheck, error) {
	before, err := l.beforeBlindness(ctx)
	if err != nil {
		return nil, err
	}
	b := &watchFaultCheck{blindness: before, fault: f, incidents: map[string]bool{}}
	reported, err := compare.Incidents(ctx, l.URL)
	if err != nil {
		return nil, err
	}
	for _, x := range reported.Incidents {
		b.incidents[x.ID] = true
	}
	return b, nil
}

// checkDuringFault checks kubeflap during the fault. It prolongs the fault, by at most the constant `slack`, if
// kubeflap has not yet reported that it is blind.
func (b *watchFaultCheck) checkDuringFault(ctx context.Context) error {
	var said bool
	var unsaid, invented error
	for lasted := time.Duration(0); lasted < b.fault.lasts || unsaid != nil && lasted < b.fault.lasts+slack; lasted = time.Since(b.from) {
		var err error
		if b.reported, err = b.lab.scrape(ctx); err != nil {
			return err
		}
		if err := b.checkNoFalseReports(ctx); err != nil && invented == nil {
			invented = fmt.Errorf("%s after the fault began: %w", lasted.Round(time.Second), err)
		}
		if unsaid = b.checkReportsBlind(ctx); unsaid == nil && !said {
			said = true
			b.lab.Log.Info("kubeflap reports that it is blind", "fault", b.fault.name, "after", lasted.Round(time.Millisecond))
		}
		if err := poll.Sleep(ctx, checkPeriod); err != nil {
			return err
		}
	}
	if unsaid != nil {
		unsaid = fmt.Errorf("%s after the fault began: %w", time.Since(b.from).Round(time.Second), unsaid)
	}
	return errors.Join(unsaid, invented)
}

// checkReportsBlind returns an error unless kubeflap reports that it is not ready and that it is blind to each expected
// resource.
func (b *watchFaultCheck) checkReportsBlind(ctx context.Context) error {
	if b.fault.blind == nil {
		return nil
	}
	var errs []error
	for _, resource := range b.fault.blind {
		if grown := b.reported.Sum(watchBlind, "resource", resource) - b.before.Sum(watchBlind, "resource", resource); !(grown > 0) {
			errs = append(errs, fmt.Errorf("%s of %s has not increased", watchBlind, resource))
		}
		if !bytes.Contains(b.coverage, fmt.Appendf(nil, "%q", resource)) {
			errs = append(errs, fmt.Errorf("coverage.not_watched does not name %s: %s", resource, b.coverage))
		}
	}
	switch err := compare.Ready(ctx, b.lab.URL); {
	case err == nil:
		errs = append(errs, errors.New("kubeflap reports that it is ready"))
	case !strings.Contains(err.Error(), "503"):
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkNoFalseReports returns an error if kubeflap has reported an incident or a transition since the fault began.
func (b *watchFaultCheck) checkNoFalseReports(ctx context.Context) error {
	reported, err := compare.Incidents(ctx, b.lab.URL)
	if err != nil {
		return err
	}
	b.coverage = reported.Coverage.NotWatched
	now, err := b.lab.Truth.Counts()
	if err != nil {
		return err
	}
	grace, _ := b.lab.Cluster.GracePeriod()
	for node := range b.lab.Cluster.Kubelets {
		if now.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node) >= grace.Seconds()/2 {
			b.excused = true
		}
	}
	errs := []error{b.checkUnchanged()}
	for _, x := range reported.Incidents {
		if !b.incidents[x.ID] {
			errs = append(errs, fmt.Errorf("false incident: %+v", x))
		}
	}
	return errors.Join(errs...)
}

// reportsTruthAgain waits until kubeflap is ready and reports all resources as watched. kubeflap must also have seen
// the newest heartbeats.
func (b *watchFaultCheck) reportsTruthAgain(ctx context.Context) error {
	if err := b.lab.waitForRecoveredWatches(ctx); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "kubeflap to report the truth again", func(ctx context.Context) error {
		if err := compare.Ready(ctx, b.lab.URL); err != nil {
			return err
		}
		reported, err := compare.Incidents(ctx, b.lab.URL)
		if err != nil {
			return err
		}
		for _, resource := range b.fault.blind {
			if bytes.Contains(reported.Coverage.NotWatched, fmt.Appendf(nil, "%q", resource)) {
				return fmt.Errorf("coverage.not_watched still names %s", resource)
			}
		}
		return b.agesInTruth(ctx)
	})
}

// agesInTruth checks that kubeflap has seen the newest heartbeats.
func (b *watchFaultCheck) agesInTruth(ctx context.Context) error {
	const age = "kubeflap_node_heartbeat_age_seconds"
	now, err := b.lab.Truth.Counts()
	if err != nil {
		return err
	}
	reported, err := b.lab.scrape(ctx)
	if err != nil {
		return err
	}
	for node := range b.lab.Cluster.Kubelets {
		if is, want := reported.Sum(age, "node", node), now.Sum(age, "node", node); is-want > compare.Tolerance {
			return fmt.Errorf("kubeflap reports that the last heartbeat of %s is %.1f s old, want %.1f s", node, is, want)
		}
	}
	return nil
}
