package session

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/paging"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// Paged holds the delay of a page, and the maximum delay. The delay is measured from the time at which kubeflap first
// reports the incident.
type Paged struct {
	Alert         string
	After, Within time.Duration
}

// startPaging starts Prometheus and Alertmanager if there are rules. kubeflap must already be running.
func (s *Session) startPaging(ctx context.Context) (err error) {
	if s.options.Rules == "" {
		return nil
	}
	if s.URL == "" {
		return errors.New("rules need a kubeflap to scrape")
	}
	s.Paging, err = paging.Start(ctx, paging.Options{
		Rules: s.options.Rules, Kubeflap: strings.TrimPrefix(s.URL, "http://"),
		Kubeconfig: s.Cluster.Kubeconfig, Log: s.options.Log,
	})
	if err == nil {
		s.pager = &pager{Paging: s.Paging, scenario: &s.scenario, log: s.options.Log, shown: s.visible}
		s.lab.Scraped, s.lab.Paged = s.Paging.Scraped, s.pager.arrived
	}
	return err
}

// pager checks the pages of a scenario. A nil pager checks nothing.
type pager struct {
	*paging.Paging
	scenario *scenario.Scenario
	log      *slog.Logger
	// shown reports whether kubeflap reports the incident that the scenario expects.
	shown func(context.Context) bool
	// visible is the time at which kubeflap first reported this incident. over is the time at which the scenario ended.
	visible, over time.Time
	paged         []Paged
}

// arrived waits until an alert has arrived at the receiver.
func (p *pager) arrived(ctx context.Context, alert string) error {
	return poll.Until(ctx, patience, "the page "+alert, func(context.Context) error {
		all := p.Receiver.Pages()
		if !slices.ContainsFunc(all, func(page paging.Page) bool { return page.Alert == alert }) {
			return fmt.Errorf("no page among %+v", all)
		}
		return nil
	})
}

// watchForIncident records the time at which kubeflap first reports the scenario's incident. The returned function ends
// the search.
func (p *pager) watchForIncident(ctx context.Context) (stop func()) {
	if p == nil || len(p.scenario.Reports) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if p.shown(ctx) {
				p.visible = time.Now()
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
func (p *pager) pageWithin() time.Duration {
	return 2*paging.Interval + p.GroupWait + 5*time.Second
}

// check checks that the receiver gets all pages that the scenario expects, and no other pages.
func (p *pager) check(ctx context.Context) error {
	if p == nil || !p.scenario.Pageable() {
		return nil
	}
	for _, want := range p.scenario.Pages {
		if err := p.page(ctx, want); err != nil {
			return errors.Join(err, p.Alive())
		}
	}
	// Wait for unexpected pages as long as for the expected ones.
	if err := poll.Sleep(ctx, time.Until(p.over.Add(p.pageWithin()))); err != nil {
		return err
	}
	if err := p.keepsQuiet(ctx); err != nil {
		return errors.Join(err, p.Alive())
	}
	reported, _, err := p.Held(ctx)
	if err != nil {
		return errors.Join(err, p.Alive())
	}
	// Alertmanager can send further alerts of a group later, so also check the alerts that it still holds.
	for _, page := range append(p.Receiver.Pages(), reported...) {
		if !slices.ContainsFunc(p.scenario.Pages, func(want scenario.Page) bool { return fits(page, want) }) {
			return fmt.Errorf("unexpected page %+v", page)
		}
	}
	if p.scenario.Healthy() {
		return nothingPends(ctx, p.Paging)
	}
	return nil
}

// keepsQuiet waits until the alerts in scenario.Quiet fire and are inhibited.
func (p *pager) keepsQuiet(ctx context.Context) error {
	return poll.Until(ctx, patience, "the inhibited alerts", func(ctx context.Context) error {
		_, inhibited, err := p.Held(ctx)
		if err != nil {
			return err
		}
		for _, quiet := range p.scenario.Quiet {
			if !slices.ContainsFunc(inhibited, func(page paging.Page) bool { return page.Alert == quiet }) {
				return fmt.Errorf("no inhibited alert %s among %+v", quiet, inhibited)
			}
		}
		return nil
	})
}

// nothingPends checks that no alert is pending or firing.
func nothingPends(ctx context.Context, p *paging.Paging) error {
	alerts, err := p.Query(ctx, "ALERTS")
	if err == nil && len(alerts) > 0 {
		err = fmt.Errorf("unexpected pending or firing alerts: %v", alerts)
	}
	return err
}

// page waits for one alert, and checks the web page behind its link.
func (p *pager) page(ctx context.Context, want scenario.Page) error {
	var got paging.Page
	// Wait longer than the limit, because the machine may be compiling at the same time. The delay is only logged, and
	// a person has to check it.
	err := poll.Until(ctx, p.pageWithin()+patience, "the page "+want.Alert, func(context.Context) error {
		all := p.Receiver.Pages()
		for _, got = range all {
			if fits(got, want) && says(got, want) {
				return nil
			}
		}
		return fmt.Errorf("no page %+v among %+v", want, all)
	})
	if err != nil {
		return err
	}
	visible := p.visible
	// Measure the delay from the start of Prometheus if the incident was visible before that start, or if the page
	// arrived before the incident was visible.
	if visible.Before(p.Since) || got.Arrived.Before(visible) {
		visible = p.Since
	}
	paged := Paged{want.Alert, got.Arrived.Sub(visible), p.pageWithin()}
	p.paged = append(p.paged, paged)
	p.log.Info("paged", "alert", want.Alert, "after", paged.After.Round(10*time.Millisecond), "within", paged.Within,
		"text", got.Text)
	return showsWhy(ctx, got.Link, want.Remedy)
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

// showsWhy opens the link to kubeflap's page, which must show the remedy.
func showsWhy(ctx context.Context, url, remedy string) error {
	text, err := fetch.Body(ctx, url)
	if err != nil {
		return fmt.Errorf("open the alert's page: %w", err)
	}
	if !strings.Contains(html.UnescapeString(string(text)), remedy) {
		return fmt.Errorf("the alert's page %s does not contain %q", url, remedy)
	}
	return nil
}
