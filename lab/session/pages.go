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

// Paged is how long after kubeflap could tell the incident its page arrived, and how long
// that may take.
type Paged struct {
	Alert         string
	After, Within time.Duration
}

// startPaging starts what pages, when kubeflap is there to be scraped.
func (s *Session) startPaging(ctx context.Context) (err error) {
	if s.options.Rules == "" {
		return nil
	}
	if s.URL == "" {
		return errors.New("rules need a kubeflap to be scraped")
	}
	s.Paging, err = paging.Start(ctx, paging.Options{
		Rules: s.options.Rules, Kubeflap: strings.TrimPrefix(s.URL, "http://"),
		Kubeconfig: s.Cluster.Kubeconfig, Log: s.options.Log,
	})
	if err == nil {
		s.lab.Scraped = s.Paging.Scraped
	}
	return err
}

// watchForIncident notes when kubeflap tells the scenario's incident first, until the
// returned function is called.
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
			_ = poll.Sleep(ctx, 100*time.Millisecond) // ends with the context
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(time.Second): // there is none
		}
		cancel()
		<-done
	}
}

// pageWithin is how soon a page must come: scrape, evaluation, Alertmanager's wait, and 5 s.
func (s *Session) pageWithin() time.Duration {
	return 2*paging.Interval + s.Paging.GroupWait + 5*time.Second
}

// pages checks what arrives at the receiver: every page that the scenario wants, and
// none but those.
func (s *Session) pages(ctx context.Context) error {
	if s.Paging == nil || !s.scenario.Pageable() {
		return nil
	}
	for _, want := range s.scenario.Pages {
		if err := s.page(ctx, want); err != nil {
			return errors.Join(err, s.Paging.Alive())
		}
	}
	// One that should not come must have had as much time as those that should.
	if err := poll.Sleep(ctx, time.Until(s.over.Add(s.pageWithin()))); err != nil {
		return err
	}
	if err := s.keepsQuiet(ctx); err != nil {
		return errors.Join(err, s.Paging.Alive())
	}
	told, _, err := s.Paging.Held(ctx)
	if err != nil {
		return errors.Join(err, s.Paging.Alive())
	}
	// What is on its way, because Alertmanager sends a group's next message later, is no better.
	for _, page := range append(s.Paging.Receiver.Pages(), told...) {
		if !slices.ContainsFunc(s.scenario.Pages, func(want scenario.Page) bool { return fits(page, want) }) {
			return fmt.Errorf("nobody should be paged with %+v", page)
		}
	}
	if s.scenario.NoIncident {
		return nothingPends(ctx, s.Paging)
	}
	return nil
}

// keepsQuiet waits until the alerts fire that another says already, and are kept back.
func (s *Session) keepsQuiet(ctx context.Context) error {
	return poll.Until(ctx, patience, "the alerts that are kept back", func(ctx context.Context) error {
		_, inhibited, err := s.Paging.Held(ctx)
		if err != nil {
			return err
		}
		for _, quiet := range s.scenario.Quiet {
			if !slices.ContainsFunc(inhibited, func(page paging.Page) bool { return page.Alert == quiet }) {
				return fmt.Errorf("%s should fire and be kept back, which only %+v are", quiet, inhibited)
			}
		}
		return nil
	})
}

// nothingPends checks that no alert waits for its time either.
func nothingPends(ctx context.Context, p *paging.Paging) error {
	alerts, err := p.Query(ctx, "ALERTS")
	if err == nil && len(alerts) > 0 {
		err = fmt.Errorf("no alert should wait to fire: %v", alerts)
	}
	return err
}

// page waits for one page and follows its link.
func (s *Session) page(ctx context.Context, want scenario.Page) error {
	var got paging.Page
	// Its time is looked at by people: a machine that builds at the same time is slow.
	err := poll.Until(ctx, s.pageWithin()+patience, "the page "+want.Alert, func(context.Context) error {
		all := s.Paging.Receiver.Pages()
		for _, got = range all {
			if fits(got, want) && says(got, want) {
				return nil
			}
		}
		return fmt.Errorf("want %+v among %+v", want, all)
	})
	if err != nil {
		return err
	}
	visible := s.visible
	// Of what was there before, when Prometheus came; a page may also warn of the incident.
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

// showsWhy follows the link to kubeflap's page, which must show the incident with its remedy.
func showsWhy(ctx context.Context, url, remedy string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("open the page of the alert: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("open the page of the alert: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the page of the alert: %w", err)
	}
	if !strings.Contains(html.UnescapeString(string(text)), remedy) {
		return fmt.Errorf("the page of the alert, %s (%s), has no %q", url, response.Status, remedy)
	}
	return nil
}
