package session

import (
	"context"
	"errors"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/paging"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// PageDelay holds the delay of a page, and the maximum delay. The delay is measured from the time at which kubeflap first
// reports the incident.
type PageDelay struct {
	Alert         string
	After, Within time.Duration
}

// startPaging starts Prometheus and Alertmanager. kubeflap must already be running.
func (s *Session) startPaging() {
	s.Expect(s.URL != "", "rules need a kubeflap to scrape")
	s.Paging = steps.Value(paging.Start(s.Ctx, paging.Options{
		Rules: s.options.Rules, Kubeflap: []string{strings.TrimPrefix(s.URL, "http://")},
		Kubeconfig: s.Cluster.Kubeconfig, Log: s.Log,
	}))
	s.Scraped = s.Paging.Scraped
	s.Paged = func(ctx context.Context, alert string) error {
		return s.Play(ctx, func(l *scenario.Lab) { waitForPage(l, s.Paging, scenario.Page{Alert: alert}) })
	}
}

// watchForIncident records the time at which kubeflap first reports the scenario's incident. The returned function ends
// the search.
func (s *Session) watchForIncident() (stop func()) {
	if s.Paging == nil || len(s.scenario.Reports) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(s.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			reported, err := compare.Incidents(ctx, s.URL)
			if err == nil && slices.ContainsFunc(reported.Incidents, func(x compare.Incident) bool { return isReported(x, s.scenario.Reports[0]) }) {
				s.visible = time.Now()
				return
			}
			_ = poll.Sleep(ctx, 100*time.Millisecond) // the context ends the loop
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(time.Second): // the incident did not appear
		}
		cancel()
		<-done
	}
}

// pageWithin returns the time within which a page must arrive. It is the sum of a scrape interval, an evaluation
// interval, Alertmanager's group_wait, and 5 s.
func pageWithin(p *paging.Paging) time.Duration {
	return 2*paging.Interval + p.GroupWait + 5*time.Second
}

// checkPages checks that the receiver gets all pages that the scenario expects, and no other pages.
func (s *Session) checkPages() {
	if s.Paging == nil || !s.scenario.Pageable() {
		return
	}
	if err := s.Play(s.Ctx, s.pages); err != nil {
		s.Must(errors.Join(err, s.Paging.Alive()))
	}
}

func (s *Session) pages(l *scenario.Lab) {
	for _, want := range s.scenario.Pages {
		s.checkPage(l, want)
	}
	// Wait for unexpected pages as long as for the expected ones.
	l.Sleep(time.Until(s.over.Add(pageWithin(s.Paging))))
	var reported []paging.Page
	l.Until("the inhibited alerts", func(l *scenario.Lab) {
		var inhibited []paging.Page
		var err error
		reported, inhibited, err = s.Paging.Held(l.Ctx)
		l.Must(err)
		for _, quiet := range s.scenario.Quiet {
			found := slices.ContainsFunc(inhibited, func(page paging.Page) bool { return page.Alert == quiet })
			l.Expect(found, "no inhibited alert %s among %+v", quiet, inhibited)
		}
	})
	// Alertmanager can send further alerts of a group later, so also check the alerts that it still holds.
	for _, page := range append(s.Paging.Receiver.Pages(), reported...) {
		wanted := slices.ContainsFunc(s.scenario.Pages, func(want scenario.Page) bool { return fits(page, want) })
		l.Expect(wanted, "unexpected page %+v", page)
	}
	if s.scenario.Healthy() {
		alerts := steps.Value(s.Paging.Query(l.Ctx, "ALERTS"))
		l.Expect(len(alerts) == 0, "unexpected pending or firing alerts: %v", alerts)
	}
}

// waitForPage waits until a page has arrived at the receiver.
func waitForPage(l *scenario.Lab, p *paging.Paging, want scenario.Page) (got paging.Page) {
	l.Until("the page "+want.Alert, func(l *scenario.Lab) {
		all := p.Receiver.Pages()
		i := slices.IndexFunc(all, func(page paging.Page) bool { return fits(page, want) && says(page, want) })
		l.Expect(i >= 0, "no page %+v among %+v", want, all)
		got = all[i]
	})
	return got
}

// checkPage waits for one alert, and checks the web page behind its link, which must show the remedy. It waits longer
// than the limit, because the machine may be compiling at the same time. The delay is only logged, and a person has to
// check it.
func (s *Session) checkPage(l *scenario.Lab, want scenario.Page) {
	got, visible := waitForPage(l, s.Paging, want), s.visible
	// Measure the delay from the start of Prometheus if the incident was visible before that start, or if the page
	// arrived before the incident was visible.
	if visible.Before(s.Paging.Since) || got.Arrived.Before(visible) {
		visible = s.Paging.Since
	}
	delay := PageDelay{want.Alert, got.Arrived.Sub(visible), pageWithin(s.Paging)}
	s.PageDelays = append(s.PageDelays, delay)
	l.Log.Info("paged", "alert", want.Alert, "after", delay.After.Round(10*time.Millisecond), "within", delay.Within, "text", got.Text)
	text := steps.Value(fetch.Body(l.Ctx, got.Link))
	l.Expect(strings.Contains(html.UnescapeString(string(text)), want.Remedy), "the alert's page %s does not contain %q", got.Link, want.Remedy)
}

func fits(page paging.Page, want scenario.Page) bool {
	return page.Alert == want.Alert && strings.Contains(page.Text, want.Object)
}

func says(page paging.Page, want scenario.Page) bool {
	for _, text := range want.Says {
		if !strings.Contains(page.Text, text) {
			return false
		}
	}
	return !page.Resolved
}
