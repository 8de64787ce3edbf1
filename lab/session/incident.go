package session

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// causeWithin is how long a loss may take to show its cause.
const causeWithin = 5 * time.Second

// told is an incident as kubeflap's API tells it.
type told struct {
	Scope   string `json:"scope"`
	Cause   string `json:"cause"`
	Summary string `json:"summary"`
	Remedy  string `json:"remedy"`
}

// tellsWhy waits until kubeflap tells the incident that the scenario is, and checks
// that no lost address is left without a cause.
func (s *Session) tellsWhy(ctx context.Context) error {
	want := s.scenario.Incident
	if s.URL == "" || want == (scenario.Incident{}) {
		return nil
	}
	return poll.Until(ctx, causeWithin, "the right incident", func(ctx context.Context) error {
		if err := s.everyLossHasACause(ctx); err != nil {
			return err
		}
		all, err := incidents(ctx, s.URL)
		if err != nil {
			return err
		}
		for _, x := range all {
			if x.Scope == want.Scope && x.Cause == want.Cause && strings.Contains(x.Remedy, want.Remedy) {
				s.options.Log.Info("kubeflap says why", "summary", x.Summary, "remedy", x.Remedy)
				return nil
			}
		}
		return fmt.Errorf("want %+v among %+v", want, all)
	})
}

func (s *Session) everyLossHasACause(ctx context.Context) error {
	counts, err := compare.Scrape(ctx, s.comparison().URL)
	if err != nil {
		return err
	}
	for series, n := range counts {
		if n > 0 && strings.HasPrefix(series, "kubeflap_service_address_losses_total{") && strings.Contains(series, `cause="unknown"`) {
			return fmt.Errorf("%s is %v", series, n)
		}
	}
	return nil
}

func incidents(ctx context.Context, url string) ([]told, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/incidents", nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the incidents: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for the incidents: %w", err)
	}
	defer response.Body.Close()
	var answer struct {
		Incidents []told `json:"incidents"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the incidents: %w", err)
	}
	return answer.Incidents, nil
}
