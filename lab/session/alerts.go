package session

import (
	"context"
	"html"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/prometheus"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// startPrometheus starts Prometheus. kubeflap must already be running.
func (s *Session) startPrometheus() {
	s.Prometheus = steps.Value(prometheus.Start(s.Ctx, strings.TrimPrefix(s.URL, "http://")))
	s.Fired = func(ctx context.Context, name string) error {
		return s.Play(ctx, func(l *scenario.Lab) {
			for i, want := range s.scenario.Alerts {
				if want.Name == name && !s.fired[i] {
					s.checkAlert(l, i)
				}
			}
		})
	}
}

// checkAlerts checks that all alerts of the scenario fire. If it has none, no alert may have fired. In a healthy
// scenario, none may be pending in the end, either. Whether others fire is a question for the tests in contract/, which
// tell the same stories at exact times.
func (s *Session) checkAlerts() {
	if s.Prometheus == nil || !s.scenario.Alerting() {
		return
	}
	for i := range s.scenario.Alerts {
		if !s.fired[i] {
			s.checkAlert(&s.Lab, i)
		}
	}
	if len(s.scenario.Alerts) == 0 {
		s.Sleep(3 * prometheus.Interval)
		query := `last_over_time(ALERTS{alertstate="firing"}[1h])`
		if s.scenario.Healthy() {
			query += " or ALERTS"
		}
		alerts := s.Prometheus.Query(s.Ctx, query)
		s.Expect(len(alerts) == 0, "unexpected alerts: %v", alerts)
	}
}

// checkAlert waits until an alert fires, and checks the page behind its link, which must show the remedy.
func (s *Session) checkAlert(l *scenario.Lab, i int) {
	want := s.scenario.Alerts[i]
	l.Until("the alert "+want.Name, func(l *scenario.Lab) {
		all := s.Prometheus.Alerts(l.Ctx)
		at := slices.IndexFunc(all, func(a prometheus.Alert) bool { return fits(a, want) })
		l.Expect(at >= 0, "no alert %+v among %+v", want, all)
		page := steps.Value(fetch.Body(l.Ctx, all[at].Annotations["page_url"]))
		l.Expect(strings.Contains(html.UnescapeString(string(page)), want.Remedy), "its page does not contain %q", want.Remedy)
	})
	s.fired[i] = true
}

func fits(a prometheus.Alert, want scenario.Alert) bool {
	text := a.Annotations["summary"] + " " + a.Annotations["description"]
	missing := func(part string) bool { return !strings.Contains(text, part) }
	return a.Labels["alertname"] == want.Name && !missing(want.Object) && !slices.ContainsFunc(want.Says, missing)
}
