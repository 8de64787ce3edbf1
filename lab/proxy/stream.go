package proxy

import (
	"context"
	"io"
)

// stream is the response body of a watch. The data of the API server waits in the connection during a fault, which has
// room for several MiB.
type stream struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
	watch  *clientWatch
}

func newStream(ctx context.Context, server io.ReadCloser, watch *clientWatch) *stream {
	s := &stream{ReadCloser: server, watch: watch}
	s.ctx, s.cancel = context.WithCancel(ctx)
	// End the watch as soon as it must end, even if no event arrives.
	go func() {
		if watch.until(s.ctx, watch.over) == nil {
			_ = server.Close() // the client then gets the end of the body
		}
	}()
	return s
}

// Read waits until the faults allow data to pass.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	over, waiting := s.watch.pass(s.ctx)
	switch {
	case waiting != nil:
		return 0, waiting
	case over:
		return 0, io.EOF
	}
	return n, err
}

// Close closes the connection to the API server.
func (s *stream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}
