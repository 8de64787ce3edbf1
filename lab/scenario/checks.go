package scenario

import (
	"context"
	"fmt"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Checks has the methods that read the state of the cluster, the recorder and kubeflap. They change nothing.
type Checks struct {
	// Truth is nil during Prepare.
	Truth *truth.Recorder
	// URL is kubeflap's URL. It is empty if no kubeflap is running.
	URL string

	cluster *cluster.Cluster
}

// waitForCountAtLeast waits until the recorder's count is at least n. It adds up all series of the metric with the
// given labels.
func (c *Checks) waitForCountAtLeast(ctx context.Context, n float64, metric string, labels ...string) error {
	what := fmt.Sprintf("at least %v of %s%v", n, metric, labels)
	return poll.Until(ctx, patience, what, func(context.Context) error {
		counts, err := c.Truth.Counts()
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum < n {
			return fmt.Errorf("got %v", sum)
		}
		return nil
	})
}

// webHas waits until the Service "web" has n addresses in a state, such as ready.
func (c *Checks) webHas(ctx context.Context, n int, state string) error {
	return c.waitForCount(ctx, float64(n), "kubeflap_service_addresses", "service", "web", "state", state)
}

// waitForCount waits until the recorder's count equals value. It adds up all series of the metric with the given
// labels.
func (c *Checks) waitForCount(ctx context.Context, value float64, metric string, labels ...string) error {
	what := fmt.Sprintf("%s%v to be %v", metric, labels, value)
	return poll.Until(ctx, patience, what, func(context.Context) error {
		counts, err := c.Truth.Counts()
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum != value {
			return fmt.Errorf("got %v", sum)
		}
		return nil
	})
}

// waitForReportedValue waits until kubeflap's metric is exactly value. If no kubeflap is running, it returns
// immediately.
func (c *Checks) waitForReportedValue(ctx context.Context, value float64, metric string, labels ...string) error {
	if c.URL == "" {
		return nil
	}
	what := fmt.Sprintf("kubeflap to show the value %v of %s%v", value, metric, labels)
	return poll.Until(ctx, patience, what, func(ctx context.Context) error {
		counts, err := compare.Scrape(ctx, c.URL+"/metrics")
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum != value {
			return fmt.Errorf("got %v", sum)
		}
		return nil
	})
}
