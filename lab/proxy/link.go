package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// Link is a piece of network: TCP connections to Address go on to a target, until it is cut. What goes through it is not looked at.
type Link struct {
	// Address is where it listens.
	Address string

	target   string
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc

	mu sync.Mutex
	// whole is closed while the link is whole.
	whole chan struct{}
}

// StartLink leads to a target, from an address of its own, until Stop.
func StartLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what goes to %s: %w", target, err)
	}
	l := &Link{Address: listener.Addr().String(), target: target, listener: listener, whole: make(chan struct{})}
	close(l.whole)
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.accept()
	return l, nil
}

// Cut lets nothing through any more, as a network that drops all packets: connections stay open and silent, new ones get no answer.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
		l.whole = make(chan struct{})
	default: // it is cut
	}
}

// Mend lets everything through again. What was sent in the meantime comes at once.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
	default:
		close(l.whole)
	}
}

// Stop breaks all connections.
func (l *Link) Stop() {
	l.stop()
	_ = l.listener.Close() // it is closed once only
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // it was stopped
		}
		go l.serve(client)
	}
}

// serve passes one connection through, both ways, until one end closes it.
func (l *Link) serve(client net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer client.Close()
	if l.pass(ctx) != nil {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", l.target)
	if err != nil {
		return // as for the client
	}
	defer server.Close()
	var ways sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		ways.Go(func() {
			defer cancel()
			l.copy(ctx, to, from)
		})
	}
	<-ctx.Done()
	_, _ = client.Close(), server.Close() // so that both ways end
	ways.Wait()
}

// copy passes on what comes, when the link lets it.
func (l *Link) copy(ctx context.Context, to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		// A connection that was closed is no packet either that a cut network lets through.
		if l.pass(ctx) != nil {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pass waits until the link is whole, or the context ends.
func (l *Link) pass(ctx context.Context) error {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-whole:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
