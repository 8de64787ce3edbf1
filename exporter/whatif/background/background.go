// Package background predicts how an incident would have developed with other settings. It reads the flight recorder's
// directory in its own goroutine. Neither the tracker nor a page waits for a prediction. The package limits the time
// and the size of each prediction, and keeps the newest predictions.
package background

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/whatif"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

const (
	// Margin extends the period of an incident at both ends. A prediction reads the recordings of the extended period.
	Margin = 10 * time.Minute
	// maxLength is the maximum length of an incident. There is no prediction for a longer incident.
	maxLength = 6 * time.Hour
	// maxEvents and maxTime limit one prediction.
	maxEvents = 5_000_000
	maxTime   = time.Minute
	// maxKept is the number of predictions that are kept.
	maxKept = 100
	// fresh is how long a prediction for an ongoing incident is used before a new prediction is requested.
	fresh = time.Minute
	// written is the maximum delay before the flight recorder writes an event.
	written = 5 * time.Second
)

// Prediction is the prediction for an incident. If there is none, Answer is nil, and Because is the reason.
type Prediction struct {
	Answer  *answer.Answer
	Because string
}

// Predictor predicts the effects of other settings from the recordings in a directory. Its methods are safe for
// concurrent use.
type Predictor struct {
	dir   string
	grace time.Duration
	jobs  chan job

	mu   sync.Mutex
	kept map[string]*entry
	// order lists the keys of kept, oldest first.
	order []string
}

type job struct {
	id                   string
	start, end, from, to time.Time
}

// entry is a kept prediction. at is the time of the request. pending is set while a new prediction is being computed.
type entry struct {
	Prediction
	at             time.Time
	final, pending bool
}

// New returns a Predictor for a directory. grace is the configured grace period. If it is 0, the Predictor derives the
// grace period from the recordings.
func New(dir string, grace time.Duration) *Predictor {
	return &Predictor{dir: dir, grace: grace, jobs: make(chan job, 1), kept: map[string]*entry{}}
}

// For returns the last prediction for an incident, without waiting. If this prediction is missing or too old, For
// requests a new prediction. end is zero for an ongoing incident.
func (p *Predictor) For(id string, start, end, now time.Time) Prediction {
	j := job{id, start, end, start.Add(-Margin), now}
	final := false
	if !end.IsZero() && end.Add(Margin+written).Before(now) {
		j.to, final = end.Add(Margin), true
	}
	if j.to.Sub(start) > maxLength+Margin {
		return Prediction{Because: "the incident lasted longer than 6 hours"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.kept[id]
	if e != nil && (e.pending || e.final || !final && now.Sub(e.at) < fresh) {
		return e.Prediction
	}
	select {
	case p.jobs <- j:
	default:
		if e != nil {
			return e.Prediction
		}
		return Prediction{Because: "predictions for other incidents are being computed; try again"}
	}
	if e == nil {
		e = p.add(id)
		e.Because = "it is being computed"
	}
	e.at, e.final, e.pending = now, final, true
	return e.Prediction
}

// add adds an entry for an ID. If the limit is reached, it first removes the oldest entry.
func (p *Predictor) add(id string) *entry {
	if len(p.order) == maxKept {
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
	e := &entry{}
	p.kept[id] = e
	p.order = append(p.order, id)
	return e
}

// Run computes the requested predictions until the context is canceled.
func (p *Predictor) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case j := <-p.jobs:
			given, err := p.predict(ctx, j)
			found := Prediction{Answer: given}
			if err != nil {
				found.Because = err.Error()
			}
			p.mu.Lock()
			if e := p.kept[j.id]; e != nil {
				e.Prediction, e.pending = found, false
			}
			p.mu.Unlock()
		}
	}
}

var errLimits = errors.New("the period has too many events")

// predict reads the recordings of a period and returns the predictions. Users see the text of the error.
func (p *Predictor) predict(ctx context.Context, j job) (*answer.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	events, _, err := flightrecorder.Read(ctx, p.dir, j.from, j.to)
	if err != nil {
		return nil, reasonOf(ctx, err)
	}
	study := whatif.NewUsual(p.grace)
	n := 0
	for ev, err := range events {
		if err != nil {
			return nil, reasonOf(ctx, err)
		}
		if n++; n > maxEvents {
			return nil, errLimits
		}
		study.Apply(ev)
	}
	study.Finish()
	given := study.PredictUsual()
	switch {
	case given.From.After(j.start):
		return nil, fmt.Errorf("the recordings do not begin before %s UTC", given.From.UTC().Format(time.DateTime))
	case given.To.Before(j.end):
		return nil, fmt.Errorf("the recordings end at %s UTC", given.To.UTC().Format(time.DateTime))
	}
	return &given, nil
}

// reasonOf returns an error for users, without the path of the directory.
func reasonOf(ctx context.Context, err error) error {
	var renamed *flightrecorder.RenamedError
	var file *fs.PathError
	switch {
	case ctx.Err() != nil:
		return errLimits
	case errors.Is(err, flightrecorder.ErrNothing):
		return flightrecorder.ErrNothing
	case errors.As(err, &renamed):
		return errors.New(renamed.Reason())
	case errors.As(err, &file):
		return fmt.Errorf("the recordings cannot be read: %w", file.Err)
	}
	return errors.New("the recordings cannot be read. For the reason, run kubeflap whatif --recording on the --data.dir directory")
}
