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

// Comparison holds a running kubeflap against the truth.
type Comparison struct {
	Truth *truth.Recorder
	// URL is where to scrape.
	URL string
	// Base is from where the counts are compared.
	Base Base
}

// Base is what the truth and kubeflap told at one moment when nothing moved. Where
// the watches were broken before, only what was counted since then must be equal.
// Without a Base all of it must.
type Base struct {
	Truth, Told truth.Counts
}

// expected is what kubeflap should tell when the truth is this.
func (b Base) expected(now truth.Counts) truth.Counts {
	want := truth.Counts{}
	for series, value := range now {
		switch told, known := b.Told[series]; {
		case known && isCounter(truth.Name(series)):
			want[series] = told + value - b.Truth[series]
		case known && truth.Name(series) == intervalMax:
			// Of the last 10 minutes kubeflap has seen more than the truth.
			want[series] = max(told, value)
		default:
			want[series] = value
		}
	}
	for series, told := range b.Told {
		if _, lost := want[series]; !lost && isLastLoss(truth.Name(series)) {
			// It was before this recorder began.
			want[series] = told
		}
	}
	return want
}

func isLastLoss(name string) bool { return name == truth.LastLoss || name == truth.LastLossSeries }

func isCounter(name string) bool {
	name = plain(name)
	return strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum")
}

// moment is one scrape, and what it should have told right before and right after it.
type moment struct {
	before, told, after truth.Counts
}

func (c Comparison) look(ctx context.Context) (moment, error) {
	before, err := c.Truth.Counts()
	if err != nil {
		return moment{}, err
	}
	told, err := Scrape(ctx, c.URL)
	if err != nil {
		return moment{}, err
	}
	after, err := c.Truth.Counts()
	return moment{c.Base.expected(before), told, c.Base.expected(after)}, err
}

// Take is a Base of now. The caller sees to it that nothing moves.
func (c Comparison) Take(ctx context.Context) (Base, error) {
	told, err := Scrape(ctx, c.URL)
	if err != nil {
		return Base{}, err
	}
	now, err := c.Truth.Counts()
	return Base{Truth: now, Told: told}, err
}

// Agree scrapes until kubeflap and the truth tell the same, for at most patience:
// an event may reach one of them a moment earlier.
func (c Comparison) Agree(ctx context.Context, patience time.Duration) error {
	return poll.Until(ctx, patience, "kubeflap and the truth to agree", c.Once)
}

// Seen scrapes until kubeflap has seen what the recorder has. Unlike Agree it leaves out the losses by cause: kubeflap
// tells them up to 15 s later, because it waits for evidence.
func (c Comparison) Seen(ctx context.Context, patience time.Duration) error {
	return poll.Until(ctx, patience, "kubeflap to see what the recorder has seen", func(ctx context.Context) error {
		return c.once(ctx, func(d Difference) bool { return d.ofLossByCause() })
	})
}

// Once compares a single scrape with the truth.
func (c Comparison) Once(ctx context.Context) error {
	return c.once(ctx, func(Difference) bool { return false })
}

// once compares a single scrape with the truth, without the differences that ignore names.
func (c Comparison) once(ctx context.Context, ignore func(Difference) bool) error {
	m, err := c.look(ctx)
	if err != nil {
		return err
	}
	// What happened during the scrape may be in it or not.
	differences := slices.DeleteFunc(Differences(m.after, m.told), ignore)
	if len(differences) > 0 && len(slices.DeleteFunc(Differences(m.before, m.told), ignore)) > 0 {
		return fmt.Errorf("%d series differ:\n%s", len(differences), Table(differences))
	}
	return nil
}
