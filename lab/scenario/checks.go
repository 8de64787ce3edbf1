package scenario

import (
	"context"
	"fmt"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Checks are what a scenario waits for and looks at: what the cluster is like, what the recorder counted, and what kubeflap tells.
// They change nothing.
type Checks struct {
	// Truth is nil during Prepare.
	Truth *truth.Recorder
	// URL is where kubeflap listens; empty without kubeflap.
	URL string

	cluster *cluster.Cluster
}

// counted waits until the recorder has counted at least n in the series of a
// metric that carry the labels, and fails if that does not happen.
func (c *Checks) counted(ctx context.Context, n float64, metric string, labels ...string) error {
	what := fmt.Sprintf("%v or more of %s%v", n, metric, labels)
	return poll.Until(ctx, patience, what, func(context.Context) error {
		counts, err := c.Truth.Counts()
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum < n {
			return fmt.Errorf("only %v so far", sum)
		}
		return nil
	})
}

// shows waits until a gauge has exactly this value.
func (c *Checks) shows(ctx context.Context, value float64, metric string, labels ...string) error {
	what := fmt.Sprintf("%s%v to be %v", metric, labels, value)
	return poll.Until(ctx, patience, what, func(context.Context) error {
		counts, err := c.Truth.Counts()
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum != value {
			return fmt.Errorf("it is %v", sum)
		}
		return nil
	})
}

// tells waits until kubeflap shows exactly this value, if there is a kubeflap.
func (c *Checks) tells(ctx context.Context, value float64, metric string, labels ...string) error {
	if c.URL == "" {
		return nil
	}
	what := fmt.Sprintf("kubeflap to show %v as %s%v", value, metric, labels)
	return poll.Until(ctx, patience, what, func(ctx context.Context) error {
		counts, err := compare.Scrape(ctx, c.URL+"/metrics")
		if err != nil {
			return err
		}
		if sum := counts.Sum(metric, labels...); sum != value {
			return fmt.Errorf("it shows %v", sum)
		}
		return nil
	})
}
