package session

import (
	"context"
	"fmt"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// judge compares kubeflap's metrics with the recorder, and kubeflap's reports with those that the scenario expects.
func (s *Session) judge(ctx context.Context) error {
	if err := s.compare(ctx); err != nil {
		return err
	}
	if err := s.knowsGracePeriod(ctx); err != nil {
		return err
	}
	return s.checkReports(ctx)
}

func (s *Session) compare(ctx context.Context) error {
	if s.URL == "" {
		_, err := s.Truth.Counts()
		return err
	}
	if s.scenario.NextScrape {
		if err := poll.Sleep(ctx, nextScrape); err != nil {
			return err
		}
		return s.comparison().Once(ctx)
	}
	return s.comparison().Agree(ctx, patience)
}

// knowsGracePeriod checks that kubeflap reports the grace period of the node controller.
func (s *Session) knowsGracePeriod(ctx context.Context) error {
	is, shown := s.Cluster.GracePeriod()
	if s.URL == "" || !shown {
		return nil
	}
	reported, err := compare.Scrape(ctx, s.MetricsURL())
	if err != nil {
		return err
	}
	if known := reported.Sum("kubeflap_node_monitor_grace_period_seconds"); known != is.Seconds() {
		return fmt.Errorf("kubeflap's grace period: got %v s, want %s", known, is)
	}
	return nil
}

func (s *Session) comparison() compare.Comparison {
	return compare.Comparison{Truth: s.Truth, URL: s.MetricsURL(), Base: s.base}
}
