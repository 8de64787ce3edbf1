package session

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

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
		s.lab.Scraped, s.lab.Paged = s.Paging.Scraped, s.paged
	}
	return err
}

// paged waits until an alert has arrived at the receiver.
func (s *Session) paged(ctx context.Context, alert string) error {
	return poll.Until(ctx, patience, "the page "+alert, func(context.Context) error {
		all := s.Paging.Receiver.Pages()
		if !slices.ContainsFunc(all, func(page paging.Page) bool { return page.Alert == alert }) {
			return fmt.Errorf("no page among %+v", all)
		}
		return nil
	})
}

// watchForIncident records the time at which kubeflap first reports the scenario's incident. The returned function ends
// the search.
func (s *Session) watchForIncident(ctx context.Context) (stop func()) {
	if s.Paging == nil || s.scenario.Incident == (scenario.Incident{}) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := s.incident(ctx); err == nil {
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
func (s *Session) pageWithin() time.Duration {
	return 2*paging.Interval + s.Paging.GroupWait + 5*time.Second
}

// pages checks that the receiver gets all pages that the scenario expects, and no other pages.
func (s *Session) pages(ctx context.Context) error {
	if s.Paging == nil || !s.scenario.Pageable() {
		return nil
	}
	for _, want := range s.scenario.Pages {
		if err := s.page(ctx, want); err != nil {
			return errors.Join(err, s.Paging.Alive())
		}
	}
	// Wait for unexpected pages as long as for the expected ones.
	if err := poll.Sleep(ctx, time.Until(s.over.Add(s.pageWithin()))); err != nil {
		return err
	}
	if err := s.keepsQuiet(ctx); err != nil {
		return errors.Join(err, s.Paging.Alive())
	}
	reported, _, err := s.Paging.Held(ctx)
	if err != nil {
		return errors.Join(err, s.Paging.Alive())
	}
	// Alertmanager can send further alerts of a group later, so also check the alerts that it still holds.
	for _, page := range append(s.Paging.Receiver.Pages(), reported...) {
		if !slices.ContainsFunc(s.scenario.Pages, func(want scenario.Page) bool { return fits(page, want) }) {
			return fmt.Errorf("unexpected page %+v", page)
		}
	}
	if s.scenario.NoIncident {
		return nothingPends(ctx, s.Paging)
	}
	return nil
}

// keepsQuiet waits until the alerts in scenario.Quiet fire and are inhibited.
func (s *Session) keepsQuiet(ctx context.Context) error {
	return poll.Until(ctx, patience, "the inhibited alerts", func(ctx context.Context) error {
		_, inhibited, err := s.Paging.Held(ctx)
		if err != nil {
			return err
		}
		for _, quiet := range s.scenario.Quiet {
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
func (s *Session) page(ctx context.Context, want scenario.Page) error {
	var got paging.Page
	// Wait longer than the limit, because the machine may be compiling at the same time. The delay is only logged, and
	// a person has to check it.
	err := poll.Until(ctx, s.pageWithin()+patience, "the page "+want.Alert, func(context.Context) error {
		all := s.Paging.Receiver.Pages()
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
	visible := s.visible
	// Measure the delay from the start of Prometheus if the incident was visible before that start, or if the page
	// arrived before the incident was visible.
	if visible.Before(s.Paging.Since) || got.Arrived.Before(visible) {
		visible = s.Paging.Since
	}
	paged := Paged{want.Alert, got.Arrived.Sub(visible), s.pageWithin()}
	s.Paged = append(s.Paged, paged)
	s.options.Log.Info("paged", "alert", want.Alert, "after", paged.After.Round(10*time.Millisecond), "within", paged.Within,
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("open the alert's page: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("open the alert's page: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the alert's page: %w", err)
	}
	if !strings.Contains(html.UnescapeString(string(text)), remedy) {
		return fmt.Errorf("the alert's page %s (%s) does not contain %q", url, response.Status, remedy)
	}
	return nil
}
