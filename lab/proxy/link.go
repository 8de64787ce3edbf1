package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// Link forwards TCP connections from Address to a target, like a network cable that can be cut. It does not inspect the
// data.
type Link struct {
	// Address is the host and port on which the link listens.
	Address string

	target   string
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc

	mu sync.Mutex
	// whole is closed while the link is not cut.
	whole chan struct{}
}

// StartLink forwards connections to a target from a new address, until Stop.
func StartLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for connections to %s: %w", target, err)
	}
	l := &Link{Address: listener.Addr().String(), target: target, listener: listener, whole: make(chan struct{})}
	close(l.whole)
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.accept()
	return l, nil
}

// Cut stops all traffic, like a network that drops all packets. Connections stay open and silent, and new ones get no
// response.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
		l.whole = make(chan struct{})
	default: // already cut
	}
}

// Mend restores all traffic. Data that was sent meanwhile arrives immediately.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
	default:
		close(l.whole)
	}
}

// Stop closes all connections.
func (l *Link) Stop() {
	l.stop()
	_ = l.listener.Close() // an error would mean that it was already closed
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // the link was stopped
		}
		go l.serve(client)
	}
}

// serve forwards one connection in both directions, until one side closes it.
func (l *Link) serve(client net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer client.Close()
	if l.pass(ctx) != nil {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", l.target)
	if err != nil {
		return // closes the client's connection, too
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
	_, _ = client.Close(), server.Close() // ends both directions
	ways.Wait()
}

// copy forwards data while the link is not cut.
func (l *Link) copy(ctx context.Context, to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		// A cut network does not deliver the close of a connection either.
		if l.pass(ctx) != nil {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pass waits until the link is not cut, or the context ends.
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
