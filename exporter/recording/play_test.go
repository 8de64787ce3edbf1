package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// at returns a recording with events at these seconds after noon.
func at(seconds ...float64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, s := range seconds {
			if !yield(lease(s), nil) {
				return
			}
		}
	}
}

// sinceNoon returns the seconds between noon and a time in the recording.
func sinceNoon(t time.Time) float64 { return t.Sub(noon).Seconds() }

func TestEventsAreDueAtTheirPace(t *testing.T) {
	for _, c := range []struct {
		name   string
		speed  float64
		busy   time.Duration // how long each event is handled
		seen   []float64
		played []float64
	}{
		{"at the pace of the recording", 1, 0, []float64{5, 6, 16.5}, []float64{0, 1, 11.5}},
		{"sixty times as fast", 60, 0, []float64{0, 60, 90}, []float64{0, 1, 1.5}},
		{"half as fast", 0.5, 0, []float64{0, 1, 3}, []float64{0, 2, 6}},
		{"at once", 0, 0, []float64{0, 3600, 5}, []float64{0, 0, 0}},
		{"a recorder's clock that was set back delays nothing that follows", 1, 0, []float64{10, 4, 5, 12}, []float64{0, 0, 0, 2}},
		{"what is handled slowly is caught up with", 1, 3 * time.Second, []float64{0, 1, 2, 10}, []float64{0, 3, 6, 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var played []float64
				clock := NewClock(c.speed)
				err := Play(t.Context(), at(c.seen...), clock, func(event.Event) {
					played = append(played, time.Since(start).Seconds())
					time.Sleep(c.busy)
				})
				if err != nil || !slices.Equal(played, c.played) {
					t.Errorf("played at %v, want %v; error %v", played, c.played, err)
				}
				if now := sinceNoon(clock.Now()); now != slices.Max(c.seen) {
					t.Errorf("in the end it is %v", now)
				}
			})
		})
	}
}

func TestClockRunsBetweenEventsAndNoFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock(10)
		if now := clock.Now(); !now.IsZero() {
			t.Errorf("before the first event it is %v", now)
		}
		done := make(chan error)
		go func() {
			done <- Play(t.Context(), at(100, 150, 140, 200), clock, func(ev event.Event) {
				if now := clock.Now(); now.Before(ev.Seen) {
					t.Errorf("while the event of %v is applied it is only %v", ev.Seen, now)
				}
				if sinceNoon(ev.Seen) == 150 {
					time.Sleep(2 * time.Second) // this simulates a slow tracker
				}
			})
		}()
		for _, c := range []struct{ after, want float64 }{
			{0, 100},
			{1, 110},
			{4.9, 149},
			{6, 150}, // the tracker is still handling this event
			{7.5, 175},
			{9.9, 199},
			{10.1, 200},
			{100, 200},
		} {
			time.Sleep(time.Duration(c.after*float64(time.Second)) - time.Since(began(clock)))
			synctest.Wait()
			if now := sinceNoon(clock.Now()); math.Abs(now-c.want) > 1e-6 {
				t.Errorf("after %v s it is %v, want %v", c.after, now, c.want)
			}
			if c.after == 10.1 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// began returns the start time of the replay, or the current time if the replay has not started.
func began(c *Clock) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.IsZero() {
		return time.Now()
	}
	return c.started
}

func TestPlayEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		clock, start, count := NewClock(1), time.Now(), 0
		err := Play(ctx, at(0, 1, 3600), clock, func(event.Event) { count++ })
		if !errors.Is(err, context.DeadlineExceeded) || count != 2 || time.Since(start) != 3*time.Second {
			t.Errorf("after %v and %d events: error %v", time.Since(start), count, err)
		}
		time.Sleep(time.Minute)
		if now := sinceNoon(clock.Now()); now != 3 {
			t.Errorf("the clock did not stop: it is %v", now)
		}
		if err := Play(ctx, at(0), NewClock(0), func(event.Event) { t.Error("played") }); err == nil {
			t.Error("at once: no error")
		}
	})
}

func TestPlayGivesWhatComesBeforeTheDamage(t *testing.T) {
	broken := errors.New("line 4")
	count := 0
	err := Play(t.Context(), func(yield func(event.Event, error) bool) {
		_ = yield(lease(0), nil) && yield(event.Event{}, broken)
	}, NewClock(1), func(event.Event) { count++ })
	if !errors.Is(err, broken) || count != 1 {
		t.Errorf("after %d events: error %v", count, err)
	}
}

func TestLongAndSlowReplayDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
		defer cancel()
		var played []string
		clock := NewClock(1e-9)
		err := Play(ctx, at(0, -9e9, 9e9), clock, func(ev event.Event) {
			played = append(played, fmt.Sprint(ev.Seen.Year()))
			time.Sleep(time.Second)
		})
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(played, []string{"2026", "1740"}) {
			t.Errorf("played %v; error %v", played, err)
		}
	})
}
