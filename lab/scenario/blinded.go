package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// lookPeriod is how often it is looked what kubeflap tells while it is blind.
	lookPeriod = time.Second
	// slack is for how much longer than it has to a fault lasts if kubeflap does not say that it is blind: each lasts as long
	// as it may take to say so, and a slow machine takes more.
	slack = time.Minute
)

// blinded is kubeflap while something on its way to the API server blinds it. The truth goes on.
type blinded struct {
	*blindness
	fault watchFault
	// from is when the fault began, incidents are those of which kubeflap told by then.
	from      time.Time
	incidents map[string]bool
	// coverage is what kubeflap says that it does not see.
	coverage []byte
}

// blindedBy lets a fault happen for its time, and returns when kubeflap tells the truth again.
func (l *Lab) blindedBy(ctx context.Context, f watchFault) error {
	if l.URL == "" {
		return nil // nobody is there to be blinded
	}
	b, err := l.beforeFault(ctx, f)
	if err != nil {
		return err
	}
	f.begin(l)
	b.from = time.Now()
	// What was wrong during the fault does not keep from looking how it ends.
	during := b.lookOn(ctx)
	f.end(l)
	gone, ended := time.Since(b.from), time.Now()
	back := b.tellsTruthAgain(ctx)
	l.Log.Info("the fault is over", "fault", f.name, "lasted", gone.Round(time.Millisecond),
		"truth after", time.Since(ended).Round(time.Millisecond), "failed", back != nil)
	if err := poll.Sleep(ctx, catchUp); err != nil {
		return err
	}
	if b.told, err = l.scrape(ctx); err != nil {
		return err
	}
	for _, resource := range f.blind {
		l.Log.Info("blind", "resource", resource, "seconds", b.told.Sum(watchBlind, "resource", resource)-b.before.Sum(watchBlind, "resource", resource))
	}
	return errors.Join(during, back, b.invents(ctx), b.beatsInTruth(ctx), b.noIntervalOf(gone))
}

func (l *Lab) beforeFault(ctx context.Context, f watchFault) (*blinded, error) {
	before, err := l.beforeBlindness(ctx)
	if err != nil {
		return nil, err
	}
	b := &blinded{blindness: before, fault: f, incidents: map[string]bool{}}
	told, err := compare.Incidents(ctx, l.URL)
	if err != nil {
		return nil, err
	}
	for _, x := range told.Incidents {
		b.incidents[x.ID] = true
	}
	return b, nil
}

// lookOn looks at kubeflap as long as the fault lasts: longer if kubeflap does not say by then that it is blind.
func (b *blinded) lookOn(ctx context.Context) error {
	var said bool
	var unsaid, invented error
	for lasted := time.Duration(0); lasted < b.fault.lasts || unsaid != nil && lasted < b.fault.lasts+slack; lasted = time.Since(b.from) {
		var err error
		if b.told, err = b.lab.scrape(ctx); err != nil {
			return err
		}
		if err := b.invents(ctx); err != nil && invented == nil {
			invented = fmt.Errorf("%s after the fault began: %w", lasted.Round(time.Second), err)
		}
		if unsaid = b.unsaid(ctx); unsaid == nil && !said {
			said = true
			b.lab.Log.Info("kubeflap says that it is blind", "fault", b.fault.name, "after", lasted.Round(time.Millisecond))
		}
		if err := poll.Sleep(ctx, lookPeriod); err != nil {
			return err
		}
	}
	if unsaid != nil {
		unsaid = fmt.Errorf("when the fault had lasted %s: %w", time.Since(b.from).Round(time.Second), unsaid)
	}
	return errors.Join(unsaid, invented)
}

// unsaid checks that kubeflap says of each resource that it is blind, and that it is not ready.
func (b *blinded) unsaid(ctx context.Context) error {
	if b.fault.blind == nil {
		return nil
	}
	var errs []error
	for _, resource := range b.fault.blind {
		if grown := b.told.Sum(watchBlind, "resource", resource) - b.before.Sum(watchBlind, "resource", resource); !(grown > 0) {
			errs = append(errs, fmt.Errorf("%s of %s has not grown", watchBlind, resource))
		}
		if !bytes.Contains(b.coverage, fmt.Appendf(nil, "%q", resource)) {
			errs = append(errs, fmt.Errorf("coverage.not_watched does not name %s: %s", resource, b.coverage))
		}
	}
	switch err := compare.Ready(ctx, b.lab.URL); {
	case err == nil:
		errs = append(errs, errors.New("it says that it is ready"))
	case !strings.Contains(err.Error(), "503"):
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// invents checks that kubeflap tells nothing that was not there before the fault.
func (b *blinded) invents(ctx context.Context) error {
	told, err := compare.Incidents(ctx, b.lab.URL)
	if err != nil {
		return err
	}
	b.coverage = told.Coverage.NotWatched
	now, err := b.lab.Truth.Counts()
	if err != nil {
		return err
	}
	grace, _ := b.lab.Cluster.GracePeriod()
	for node := range b.lab.Cluster.Kubelets {
		if now.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node) >= grace.Seconds()/2 {
			b.excused = true
		}
	}
	errs := []error{b.unmoved(), b.namesNobody(ctx)}
	for _, x := range told.Incidents {
		if !b.incidents[x.ID] {
			errs = append(errs, fmt.Errorf("an incident that is none: %+v", x))
		}
	}
	return errors.Join(errs...)
}

// namesNobody checks that kubeflap blames no node or Service that it did not blame before the fault.
func (b *blinded) namesNobody(ctx context.Context) error {
	told, err := b.lab.scrape(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, metric := range []string{"kubeflap_incidents", "kubeflap_node_verdict", "kubeflap_service_verdict"} {
		for series, is := range told {
			if truth.Name(series) == metric && is > b.before[series] {
				errs = append(errs, fmt.Errorf("%s was %v and is %v", series, b.before[series], is))
			}
		}
	}
	return errors.Join(errs...)
}

// tellsTruthAgain waits until kubeflap sees, says so and shows what there is. How long that takes is in the log.
func (b *blinded) tellsTruthAgain(ctx context.Context) error {
	if err := b.lab.sees(ctx); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "kubeflap to tell the truth again", func(ctx context.Context) error {
		if err := compare.Ready(ctx, b.lab.URL); err != nil {
			return err
		}
		told, err := compare.Incidents(ctx, b.lab.URL)
		if err != nil {
			return err
		}
		for _, resource := range b.fault.blind {
			if bytes.Contains(told.Coverage.NotWatched, fmt.Appendf(nil, "%q", resource)) {
				return fmt.Errorf("coverage.not_watched still names %s", resource)
			}
		}
		return b.agesInTruth(ctx)
	})
}

// agesInTruth checks that kubeflap has the newest heartbeats.
func (b *blinded) agesInTruth(ctx context.Context) error {
	const age = "kubeflap_node_heartbeat_age_seconds"
	now, err := b.lab.Truth.Counts()
	if err != nil {
		return err
	}
	told, err := b.lab.scrape(ctx)
	if err != nil {
		return err
	}
	for node := range b.lab.Cluster.Kubelets {
		if is, want := told.Sum(age, "node", node), now.Sum(age, "node", node); is-want > compare.Tolerance {
			return fmt.Errorf("the heartbeat of %s is told to be %.1f s old, it is %.1f s", node, is, want)
		}
	}
	return nil
}

// beatsInTruth checks that kubeflap has counted no heartbeat that was none. The recorder may see one a moment later.
func (b *blinded) beatsInTruth(ctx context.Context) error {
	const beats = "kubeflap_node_heartbeats_total"
	return poll.Until(ctx, compare.Tolerance*time.Second, "the recorder to count as many heartbeats", func(context.Context) error {
		now, err := b.lab.Truth.Counts()
		if err != nil {
			return err
		}
		for node := range b.lab.Cluster.Kubelets {
			if told, were := b.told.Sum(beats, "node", node), now.Sum(beats, "node", node); told > were {
				return fmt.Errorf("of %s kubeflap tells %v, there were %v", node, told, were)
			}
		}
		return nil
	})
}

// noIntervalOf checks that kubeflap has measured none across its blindness: nobody could see a heartbeat in it.
func (b *blinded) noIntervalOf(gone time.Duration) error {
	var errs []error
	for node := range b.lab.Cluster.Kubelets {
		if longest := b.told.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node); longest >= gone.Seconds() {
			errs = append(errs, fmt.Errorf("%s: an interval of %.1f s was seen in a blindness of %s", node, longest, gone))
		}
	}
	return errors.Join(errs...)
}
