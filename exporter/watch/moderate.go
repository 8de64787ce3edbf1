package watch

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// together is for how long events are gathered before they are read, as network cards gather packets before they
	// interrupt: most of what a small event costs is to wake the process for it.
	together = 20 * time.Millisecond
	// plenty is how much comes in that time when it is a list and not events. Of that is gathered only briefly: the buffers
	// of the connection must not get full, and the next page is asked for only when the last part of one was read.
	plenty  = 256 << 10
	briefly = time.Millisecond
)

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// moderate lets the connections that config leads to be read at most once in a while.
func moderate(config *rest.Config) {
	dial := dialer(config.Dial)
	if dial == nil {
		// As client-go's own (transport, tlsTransportCache.get).
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err //nolint:wrapcheck // nothing was added
		}
		closed, end := context.WithCancel(context.Background())
		return &moderated{Conn: conn, closed: closed.Done(), close: end}, nil
	}
}

// moderated is a connection on which what comes soon after something else waits for more. What comes after a
// pause is read at once.
type moderated struct {
	net.Conn
	closed <-chan struct{}
	close  func()

	// Of reads, which come one after the other: whether the last took all there was, since when their time together
	// runs, how much came in it, and whether it was plenty before.
	drained bool
	since   time.Time
	came    int
	list    bool
}

// Read reads what there is. Deadlines are heeded once the wait is over.
func (m *moderated) Read(b []byte) (int, error) {
	if m.drained {
		m.wait()
	}
	n, err := m.Conn.Read(b)
	m.drained = n < len(b)
	m.came += n
	return n, err //nolint:wrapcheck // io.EOF is compared
}

func (m *moderated) wait() {
	left := together - time.Since(m.since)
	if m.list || m.came >= plenty {
		m.sleep(min(left, briefly))
	} else {
		m.sleep(left)
	}
	if time.Since(m.since) >= together {
		m.since, m.came, m.list = time.Now(), 0, m.came >= plenty
	}
}

// sleep waits, and lets the kernel leave the process alone meanwhile.
func (m *moderated) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	wakeFor(m.Conn, plenty)
	defer wakeFor(m.Conn, 1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.closed:
	}
}

// Close closes the connection; who waits to read hears of it at once.
func (m *moderated) Close() error {
	m.close()
	return m.Conn.Close() //nolint:wrapcheck // nothing was added
}
