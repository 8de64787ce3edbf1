package paging

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// Query runs an instant query. It returns the labels of each result.
func (p *Paging) Query(ctx context.Context, query string) ([]map[string]string, error) {
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := fetch.JSON(ctx, p.Prometheus+"/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
		return nil, err
	}
	var series []map[string]string
	for _, result := range answer.Data.Result {
		series = append(series, result.Metric)
	}
	return series, nil
}

// Held returns the alerts in Alertmanager in two lists: the alerts that have been or will be sent to the receiver, and
// the alerts that other alerts inhibit.
func (p *Paging) Held(ctx context.Context) (sent, inhibited []Page, err error) {
	for state, into := range map[string]*[]Page{"active=true&inhibited=false": &sent, "active=false&inhibited=true": &inhibited} {
		var alerts []alert
		if err := fetch.JSON(ctx, p.Alertmanager+"/api/v2/alerts?"+state, &alerts); err != nil {
			return nil, nil, err
		}
		for _, a := range alerts {
			*into = append(*into, a.page())
		}
	}
	return sent, inhibited, nil
}

// Scraped waits until Prometheus has scraped the addresses of a Service. Then it waits for a later scrape of kubeflap.
func (p *Paging) Scraped(ctx context.Context, namespace, service string) error {
	if err := p.some(ctx, fmt.Sprintf("up{namespace=%q,service=%q}", namespace, service)); err != nil {
		return err
	}
	return p.some(ctx, fmt.Sprintf(`timestamp(up{job="kubeflap"}) > %.3f`, float64(time.Now().UnixMilli())/1000))
}

func (p *Paging) some(ctx context.Context, query string) error {
	return poll.Until(ctx, startTimeout, query, func(ctx context.Context) error {
		series, err := p.Query(ctx, query)
		if err == nil && len(series) == 0 {
			err = errors.New("no result yet")
		}
		return err
	})
}
