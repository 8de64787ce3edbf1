package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// peekTime is the maximum time to wait for the first event of a watch. After this time, the watch is reported as up.
	// If the resourceVersion has expired, the server responds with status 200, but immediately sends an error event
	// (apiserver, cacher.Watch).
	peekTime = 100 * time.Millisecond
	// A watch that delivers nothing counts as failed if it ends before minLife. Servers end working watches only after
	// minutes. The next watch will probably also end early. It is reported as up after minLife.
	minLife = 4 * time.Second
)

var (
	errBehind  = errors.New("a direct read returned a newer state than the watch")
	errNoEvent = fmt.Errorf("the connection ended before an event arrived: %w", io.ErrUnexpectedEOF)
)

// openWatch is one watch of a follower, from the request to the end of the response.
type openWatch struct {
	*follower
	// opened is the time of the server's response. peek fires when the watch is known to work.
	opened time.Time
	peek   <-chan time.Time
	// bookmarked is set if a bookmark arrived, and delivered if an event or a bookmark arrived.
	bookmarked, delivered bool
	// quiet is the number of ticks since the last event. No tick fires while the process is suspended. After a
	// suspension, kubeflap can therefore still read the events that arrived in the meantime.
	quiet   int
	tick    *time.Ticker
	running sync.WaitGroup
}

// result is what a watch delivers: first that it is open, then events, and finally an error.
type result struct {
	opened bool
	event  event.Event
	err    error
}

// watch opens a watch and emits its events until it ends. It reports whether the watch lived, so that it can be opened
// again without a delay, and returns why it ended: nil if the server ended it. The response may take up to maxSilence,
// because some proxies send the header only with the body.
func (f *follower) watch(ctx context.Context) (lived bool, err error) {
	w := &openWatch{follower: f, tick: time.NewTicker(maxSilence / silenceTicks)}
	defer w.tick.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer w.running.Wait()
	defer cancel()
	select {
	case <-f.behind: // an earlier watch lagged
	default:
	}
	results, version := make(chan result), f.version
	w.running.Go(func() { read(ctx, &f.resource, version, results) })
	for err == nil {
		select {
		case <-ctx.Done():
			return false, ctx.Err() //nolint:wrapcheck // the caller drops the error
		case r := <-results:
			if err = r.err; err == nil {
				w.take(r)
			}
		case <-w.peek:
			w.works()
		case <-f.behind:
			err = errBehind
		case <-w.tick.C:
			err = w.silence(ctx)
		}
	}
	return w.end(err)
}

// read sends the results of a watch until it ends or the context is canceled.
func read(ctx context.Context, resource *apiclient.Resource, version string, results chan<- result) {
	send := func(r result) bool {
		select {
		case results <- r:
			return r.err == nil
		case <-ctx.Done():
			return false
		}
	}
	stream, err := resource.Watch(ctx, version, apiclient.WatchTimeout())
	if err != nil {
		send(result{err: err})
		return
	}
	defer stream.Close()
	for r := (result{opened: true}); send(r); {
		e, err := stream.Next()
		r = result{event: e, err: err}
	}
}

// take handles a result that is not an error.
func (w *openWatch) take(r result) {
	if r.opened {
		w.opened, w.peek = time.Now(), time.After(w.peekTime)
		return
	}
	if w.peek != nil {
		w.works()
	}
	w.delivered, w.quiet = true, 0
	w.tick.Reset(maxSilence / silenceTicks)
	w.version = r.event.Object.Metadata().ResourceVersion
	switch {
	case r.event.Type == event.Bookmark:
		w.bookmarked = true
		w.emit(event.Bookmark, nil, "")
	case w.resource.Has(r.event.Object):
		w.emit(r.event.Type, r.event.Object, "")
	}
}

// works is called once, when the watch is known to work.
func (w *openWatch) works() {
	w.peek = nil
	w.up()
}

// end returns the result of the watch. It decides whether the watch can resume, and when the next one is known to work.
func (w *openWatch) end(err error) (lived bool, because error) {
	opened := !w.opened.IsZero()
	lived = w.delivered || opened && time.Since(w.opened) >= minLife
	w.peekTime = peekTime
	switch {
	case opened && errors.Is(err, io.EOF) && lived:
		err = nil
	case opened && errors.Is(err, io.EOF):
		err = errNoEvent
	case opened && reasonOf(err) == event.ReasonUnreadable:
		w.version = "" // the event would be the first one of the next watch
	}
	if opened && !lived && !mustRelist(err) {
		w.peekTime = minLife
	}
	return lived, err
}
