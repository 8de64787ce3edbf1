package scenario

import (
	"context"
	"fmt"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Checks has the methods that wait for or check a state of the cluster, the recorder or kubeflap. They change nothing.
type Checks struct {
	// Truth is nil during Prepare.
	Truth *truth.Recorder
	// URL is kubeflap's URL. It is empty without kubeflap.
	URL string

	cluster *cluster.Cluster
}

// counted waits until the sum of the recorder's series of a metric with the given labels is at least n.
func (c *Checks) counted(ctx context.Context, n float64, metric string, labels ...string) error {
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

// shows waits until the sum of the recorder's series with the given labels has exactly this value.
func (c *Checks) shows(ctx context.Context, value float64, metric string, labels ...string) error {
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

// reports waits until kubeflap shows exactly this value. Without kubeflap, it returns immediately.
func (c *Checks) reports(ctx context.Context, value float64, metric string, labels ...string) error {
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
