package session

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// evidenceWithin is how long to wait for kubeflap to determine the cause of a lost address. It can be too short if
	// a watch lags.
	evidenceWithin = 1500 * time.Millisecond

	lossesMetric   = "kubeflap_service_address_losses_total"
	lastLossMetric = "kubeflap_service_last_loss_timestamp_seconds"

	// calmFor is how long a test waits for an unexpected incident. It exceeds the time for which kubeflap waits for
	// replacements of lost addresses before it opens an incident.
	calmFor = 12 * time.Second
)

func (s *Session) comparison() compare.Comparison {
	return compare.Comparison{Truth: s.Truth, URL: s.URL + "/metrics", Base: s.base}
}

// checkGracePeriod checks that kubeflap reports the grace period of the node controller.
func (s *Session) checkGracePeriod() {
	is, shown := s.Cluster.GracePeriod()
	if !shown {
		return
	}
	known := s.Scrape().Sum("kubeflap_node_monitor_grace_period_seconds")
	s.Expect(known == is.Seconds(), "kubeflap's grace period: got %v s, want %s", known, is)
}

// checkReports checks kubeflap's causes and incidents.
func (s *Session) checkReports() {
	if s.scenario.Causes != nil {
		s.checkCauses()
	}
	switch {
	case s.scenario.Reports == nil:
	case s.scenario.Healthy():
		s.Must(s.incidents(&s.Lab))
		s.Sleep(calmFor)
		s.Must(s.incidents(&s.Lab))
	default:
		s.Until("the expected incidents", func(l *scenario.Lab) {
			l.Must(lossesHaveCauses(l.Scrape(), &s.scenario), s.incidents(l))
		})
	}
}

// checkCauses waits until each Service has lost enough addresses with the expected cause, and no Service has lost an
// address with another cause.
func (s *Session) checkCauses() {
	// Wait until kubeflap has determined the cause of each lost address. Otherwise, the check could miss a wrong cause.
	s.Sleep(evidenceWithin)
	s.Until("the expected causes", func(l *scenario.Lab) {
		counts := l.Scrape()
		for _, want := range s.scenario.Causes {
			n := counts.Sum(lossesMetric, "service", want.Service, "cause", want.Cause)
			l.Expect(n >= want.Addresses, "%s: %v losses by %q, want at least %v", want.Service, n, want.Cause, want.Addresses)
		}
		l.Must(lossesHaveCauses(counts, &s.scenario))
	})
}

// lossesHaveCauses checks that each lost address, and the last one of each Service, has the cause that the scenario
// defines. If the scenario defines none, the cause must not be "unknown".
func lossesHaveCauses(counts truth.Counts, s *scenario.Scenario) error {
	var errs []error
	for series, n := range counts {
		if name := truth.Name(series); n == 0 || name != lossesMetric && name != lastLossMetric {
			continue
		}
		want, defined := s.CauseOfLoss(labelOf(series, "namespace") + "/" + labelOf(series, "service"))
		if is := labelOf(series, "cause"); defined && is != want || !defined && is == "unknown" {
			errs = append(errs, fmt.Errorf("%s is %v, want the cause %q", series, n, want))
		}
	}
	return errors.Join(errs...)
}

// labelOf returns the value of a label of a series.
func labelOf(series, label string) string {
	_, value, _ := strings.Cut(series, label+`="`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// incidents returns an error unless kubeflap reports exactly the incidents that the scenario expects.
func (s *Session) incidents(l *scenario.Lab) error {
	return sameAs(l.Incidents().Incidents, s.scenario.Reports, s.scenario.Repeats)
}

// sameAs checks that each reported incident is expected, and that each expected incident is reported. Unless repeats is
// set, an incident must be reported only once.
func sameAs(reported []compare.Incident, want []scenario.Report, repeats bool) error {
	found := make([]bool, len(want))
	var errs []error
	for _, x := range reported {
		i := 0
		for i < len(want) && (found[i] && !repeats || !want[i].Fits(x)) {
			i++
		}
		if i == len(want) {
			errs = append(errs, fmt.Errorf("unexpected incident: %+v", x))
			continue
		}
		found[i] = true
	}
	for i, w := range want {
		if !found[i] {
			errs = append(errs, fmt.Errorf("missing: %+v", w))
		}
	}
	return errors.Join(errs...)
}
