package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Comparison compares a running kubeflap with the truth.
type Comparison struct {
	Truth *truth.Recorder
	// URL is the address of kubeflap's metrics.
	URL string
	// Base holds the counts from which the comparison starts.
	Base Base
}

// Base holds the counts of the truth and of kubeflap at a moment without changes. If watches were broken before that
// moment, only the later increases must be equal. Without a Base, the full counts must be equal.
type Base struct {
	Truth, Reported truth.Counts
}

// expected returns the counts that kubeflap should have, given the current truth.
func (b Base) expected(now truth.Counts) truth.Counts {
	want := truth.Counts{}
	for series, value := range now {
		switch reported, known := b.Reported[series]; {
		case known && isCounter(truth.Name(series)):
			want[series] = reported + value - b.Truth[series]
		case known && truth.Name(series) == intervalMax:
			// kubeflap may know a longer interval within the last 10 minutes than the recorder.
			want[series] = max(reported, value)
		default:
			want[series] = value
		}
	}
	for series, reported := range b.Reported {
		if _, lost := want[series]; !lost && isLastLoss(truth.Name(series)) {
			// The loss happened before this recorder started.
			want[series] = reported
		}
	}
	return want
}

func isLastLoss(name string) bool { return name == truth.LastLoss || name == truth.LastLossSeries }

func isCounter(name string) bool {
	name = plain(name)
	return strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum")
}

// moment holds the counts of one scrape, and the expected counts immediately before and after it.
type moment struct {
	before, reported, after truth.Counts
}

func (c Comparison) look(ctx context.Context) (moment, error) {
	before, err := c.Truth.Counts()
	if err != nil {
		return moment{}, err
	}
	reported, err := Scrape(ctx, c.URL)
	if err != nil {
		return moment{}, err
	}
	after, err := c.Truth.Counts()
	return moment{c.Base.expected(before), reported, c.Base.expected(after)}, err
}

// Take returns the current counts as a Base. The caller must ensure that nothing changes during the call.
func (c Comparison) Take(ctx context.Context) (Base, error) {
	reported, err := Scrape(ctx, c.URL)
	if err != nil {
		return Base{}, err
	}
	now, err := c.Truth.Counts()
	return Base{Truth: now, Reported: reported}, err
}

// Agree scrapes until kubeflap's counts equal the truth, for at most patience. An event may reach kubeflap or the
// recorder first.
func (c Comparison) Agree(ctx context.Context, patience time.Duration) error {
	return poll.Until(ctx, patience, "kubeflap and the truth to agree", c.Once)
}

// Seen scrapes until kubeflap has seen the same events as the recorder. Unlike Agree, it ignores losses by cause:
// kubeflap waits for evidence and reports them up to 15 s later.
func (c Comparison) Seen(ctx context.Context, patience time.Duration) error {
	return poll.Until(ctx, patience, "kubeflap to see the same events as the recorder", func(ctx context.Context) error {
		return c.once(ctx, func(d Difference) bool { return d.ofLossByCause() })
	})
}

// Once compares a single scrape with the truth.
func (c Comparison) Once(ctx context.Context) error {
	return c.once(ctx, func(Difference) bool { return false })
}

// once compares a single scrape with the truth. It ignores the differences for which ignore returns true.
func (c Comparison) once(ctx context.Context, ignore func(Difference) bool) error {
	m, err := c.look(ctx)
	if err != nil {
		return err
	}
	// The scrape may or may not include concurrent events, so it must match the counts before or after.
	differences := slices.DeleteFunc(Differences(m.after, m.reported), ignore)
	if len(differences) > 0 && len(slices.DeleteFunc(Differences(m.before, m.reported), ignore)) > 0 {
		return fmt.Errorf("%d series differ:\n%s", len(differences), Table(differences))
	}
	return nil
}
