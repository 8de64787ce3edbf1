package apiclient

import (
	"context"
	"net"
	"time"
)

const (
	// window is the maximum time for which a read waits for more data.
	window = 40 * time.Millisecond
	// If at least listBytes bytes arrive in a window, kubeflap assumes that they belong to a list.
	listBytes = 256 << 10
	// listWait is the maximum wait while a list arrives. A longer wait would fill the connection's buffers and delay
	// the request for the next page.
	listWait = time.Millisecond
)

// dialer opens a connection, like net.Dialer.DialContext and rest.Config.Dial.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// batched wraps a dialer so that small events are read in batches. If dial is nil, it wraps client-go's default dialer.
//
// Most of the CPU time for a small event is spent on waking the process. A read that starts shortly after another read
// therefore waits for more data, at most 40 ms. The kernel does not wake the process in the meantime (SO_RCVLOWAT). An
// event after a pause is read immediately. docs/performance.md has the effect in numbers.
func batched(dial dialer) dialer {
	if dial == nil {
		// These are client-go's values (transport, tlsTransportCache.get).
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		closed, closeWaits := context.WithCancel(context.Background())
		return &conn{Conn: c, closed: closed.Done(), closeWaits: closeWaits}, nil
	}
}

// conn is a connection with batched reads.
type conn struct {
	net.Conn
	closed     <-chan struct{}
	closeWaits func()

	// Only Read uses the following fields. Read must not be called concurrently.

	// drained is set if the last Read returned all available data.
	drained bool
	// start is the time at which the current window began. size is the number of bytes read in the current window.
	start time.Time
	size  int
	// list is set if at least listBytes bytes arrived in the previous window.
	list bool
}

// Read reads the available data. If the last Read returned all available data, this Read first waits for more.
// Deadlines are checked after the wait.
func (c *conn) Read(b []byte) (int, error) {
	if c.drained {
		c.wait()
	}
	n, err := c.Conn.Read(b)
	c.drained = n < len(b)
	c.size += n
	return n, err //nolint:wrapcheck // callers compare the error with io.EOF
}

func (c *conn) wait() {
	left := window - time.Since(c.start)
	if c.list || c.size >= listBytes {
		left = min(left, listWait)
	}
	c.sleep(left)
	if time.Since(c.start) >= window {
		c.start, c.size, c.list = time.Now(), 0, c.size >= listBytes
	}
}

// sleep waits for the duration d, or until the connection is closed. Meanwhile, the kernel wakes the process only if
// listBytes bytes are available.
func (c *conn) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	setLowWaterMark(c.Conn, listBytes)
	defer setLowWaterMark(c.Conn, 1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closed:
	}
}

// Close closes the connection and interrupts a waiting Read.
func (c *conn) Close() error {
	c.closeWaits()
	return c.Conn.Close() //nolint:wrapcheck // this wrapper adds nothing
}
