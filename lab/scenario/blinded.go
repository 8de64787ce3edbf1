package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
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
}

// runWatchFault runs a fault for the given duration, and returns when kubeflap's reports are correct again.
func runWatchFault(l *Lab, f watchFault) {
	b := &watchFaultCheck{blindness: beforeBlindness(l), fault: f, incidents: map[string]bool{}}
	for _, x := range l.Incidents().Incidents {
		b.incidents[x.ID] = true
	}
	f.begin(l)
	b.from = time.Now()
	// If a check fails during the fault, still check how kubeflap recovers.
	during := l.Play(l.Ctx, b.checkDuringFault)
	f.end(l)
	ended := time.Now()
	back := l.Play(l.Ctx, b.waitForTruth)
	l.Log.Info("the fault has ended", "fault", f.name, "lasted", ended.Sub(b.from).Round(time.Millisecond),
		"truth after", time.Since(ended).Round(time.Millisecond), "failed", back != nil)
	l.Sleep(catchUp)
	b.reported = l.Scrape()
	for _, resource := range f.blind {
		l.Log.Info("blind", "resource", resource, "seconds", b.grown(watchBlind, "resource", resource))
	}
	l.Must(errors.Join(during, back, b.checkNoFalseReports()))
}

// Incidents returns the incidents in kubeflap's API.
func (l *Lab) Incidents() compare.Answer { return compare.Incidents(l.Ctx, l.URL) }

// notWatches reports whether kubeflap's API says that kubeflap does not watch a resource.
func notWatches(reported compare.Answer, resource string) bool {
	return bytes.Contains(reported.Coverage.NotWatched, fmt.Appendf(nil, "%q", resource))
}

// checkDuringFault checks kubeflap during the fault. It prolongs the fault, by at most the constant `slack`, if
// kubeflap has not yet reported that it is blind.
func (b *watchFaultCheck) checkDuringFault(l *Lab) {
	var said bool
	var unsaid, invented error
	for lasted := time.Duration(0); lasted < b.fault.lasts || unsaid != nil && lasted < b.fault.lasts+slack; lasted = time.Since(b.from) {
		b.reported = l.Scrape()
		if err := b.checkNoFalseReports(); err != nil && invented == nil {
			invented = fmt.Errorf("%s after the fault began: %w", lasted.Round(time.Second), err)
		}
		if unsaid = b.checkReportsBlind(); unsaid == nil && !said {
			said = true
			l.Log.Info("kubeflap reports that it is blind", "fault", b.fault.name, "after", lasted.Round(time.Millisecond))
		}
		l.Sleep(checkPeriod)
	}
	if unsaid != nil {
		unsaid = fmt.Errorf("%s after the fault began: %w", time.Since(b.from).Round(time.Second), unsaid)
	}
	l.Must(errors.Join(unsaid, invented))
}

// checkReportsBlind returns an error unless kubeflap reports that it is not ready and that it is blind to each expected
// resource.
func (b *watchFaultCheck) checkReportsBlind() error {
	var errs []error
	reported := b.Lab.Incidents()
	for _, resource := range b.fault.blind {
		if !(b.grown(watchBlind, "resource", resource) > 0) {
			errs = append(errs, fmt.Errorf("%s of %s has not increased", watchBlind, resource))
		}
		if !notWatches(reported, resource) {
			errs = append(errs, fmt.Errorf("coverage.not_watched does not name %s: %s", resource, reported.Coverage.NotWatched))
		}
	}
	switch err := b.Ready(); {
	case err == nil:
		errs = append(errs, errors.New("kubeflap reports that it is ready"))
	case !strings.Contains(err.Error(), "503"):
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkNoFalseReports returns an error if kubeflap has reported an incident or a transition since the fault began.
func (b *watchFaultCheck) checkNoFalseReports() error {
	grace, _ := b.Cluster.GracePeriod()
	for _, node := range b.nodes() {
		b.excused = b.excused || b.late(node, grace/2)
	}
	errs := []error{b.checkUnchanged()}
	for _, x := range b.Lab.Incidents().Incidents {
		if !b.incidents[x.ID] {
			errs = append(errs, fmt.Errorf("false incident: %+v", x))
		}
	}
	return errors.Join(errs...)
}

// waitForTruth waits until kubeflap is ready and reports all resources as watched. kubeflap must also have seen the
// newest heartbeats.
func (b *watchFaultCheck) waitForTruth(l *Lab) {
	const age = "kubeflap_node_heartbeat_age_seconds"
	waitForRecoveredWatches(l)
	l.Until("kubeflap to report the truth again", func(l *Lab) {
		l.Must(l.Ready())
		for _, resource := range b.fault.blind {
			l.Expect(!notWatches(l.Incidents(), resource), "coverage.not_watched still names %s", resource)
		}
		now, reported := l.counts(), l.Scrape()
		for _, node := range l.nodes() {
			is, want := reported.Sum(age, "node", node), now.Sum(age, "node", node)
			l.Expect(is-want <= compare.Tolerance, "kubeflap reports that the last heartbeat of %s is %.1f s old, want %.1f s", node, is, want)
		}
	})
}
