package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Comparison compares a running kubeflap with the recorder.
type Comparison struct {
	Truth *truth.Recorder
	// URL is the address of kubeflap's metrics.
	URL string
	// Base holds the counts at the start of the comparison. If it is empty, all counts start at 0.
	Base Base
}

// Base holds the counts of the recorder and of kubeflap at a time when nothing changes in the cluster. With a Base,
// only the increases after that time must be equal. A Base is necessary if kubeflap's watches were broken before that
// time.
type Base struct {
	Truth, Reported truth.Counts
}

// expected returns the counts that kubeflap should have, given the recorder's current counts.
func (b Base) expected(now truth.Counts) truth.Counts {
	want := truth.Counts{}
	for series, value := range now {
		switch reported, known := b.Reported[series]; {
		case known && isCounter(truth.Name(series)):
			want[series] = reported + value - b.Truth[series]
		case known && truth.Name(series) == intervalMax:
			// kubeflap also measures intervals that ended before this recorder started.
			want[series] = max(reported, value)
		default:
			want[series] = value
		}
	}
	return want
}

func isCounter(name string) bool {
	name = plain(name)
	return strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum")
}

// Take returns the current counts as a Base. The cluster must not change during the call.
func (c Comparison) Take(ctx context.Context) Base {
	return Base{Truth: c.Truth.Counts(), Reported: Scrape(ctx, c.URL)}
}

// Agree scrapes kubeflap until its counts equal those of the recorder, because the two do not receive an event at
// exactly the same time. It fails if the counts still differ after the time given by patience.
func (c Comparison) Agree(ctx context.Context, patience time.Duration) {
	c.until(ctx, patience, "kubeflap and the truth to agree", func(Difference) bool { return false })
}

// Seen scrapes kubeflap until it has received the same events as the recorder. Unlike Agree, Seen ignores the causes of
// lost addresses. kubeflap can take up to 15 s to determine a cause.
func (c Comparison) Seen(ctx context.Context, patience time.Duration) {
	c.until(ctx, patience, "kubeflap to see the same events as the recorder", func(d Difference) bool {
		return truth.Name(d.Series) == truth.LossesOfAnyCause
	})
}

func (c Comparison) until(ctx context.Context, patience time.Duration, what string, ignore func(Difference) bool) {
	steps.Must(poll.Until(ctx, patience, what, func(ctx context.Context) error {
		return steps.Run(func() { c.once(ctx, ignore) })
	}))
}

// once compares one scrape with the recorder.
func (c Comparison) once(ctx context.Context, ignore func(Difference) bool) {
	before := c.expected()
	reported := Scrape(ctx, c.URL)
	after := c.expected()
	// The recorder may count events during the scrape. Therefore, kubeflap's counts must equal the recorder's counts
	// either from before the scrape or from after it.
	differences := slices.DeleteFunc(Differences(after, reported), ignore)
	if len(differences) > 0 && len(slices.DeleteFunc(Differences(before, reported), ignore)) > 0 {
		steps.Must(fmt.Errorf("%d series differ:\n%s", len(differences), Table(differences)))
	}
}

func (c Comparison) expected() truth.Counts { return c.Base.expected(c.Truth.Counts()) }

// settle is the time within which two watchers receive the same event, even on a slow machine. quietWithin is the maximum
// wait until the cluster no longer changes after a scenario.
const (
	settle      = time.Second
	quietWithin = 2 * time.Minute
)

// WaitUntilQuiet waits until there has been no transition for a while, so that the recorder and kubeflap have received the
// same events. It returns a time after which there was none.
func (c Comparison) WaitUntilQuiet(ctx context.Context) (began time.Time) {
	steps.Must(poll.Until(ctx, quietWithin, "no more changes", func(ctx context.Context) error {
		transitions := c.Truth.Transitions()
		began = time.Now()
		if err := poll.Sleep(ctx, settle); err != nil {
			return err
		}
		if n := c.Truth.Transitions() - transitions; n > 0 {
			return fmt.Errorf("got %d transitions", n)
		}
		return nil
	}))
	return began
}
