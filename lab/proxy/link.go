package proxy

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Link forwards TCP connections from Address to a target. It can be cut, like a network cable.
type Link struct {
	// Address is the host and port on which the link listens.
	Address string

	target   string
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc
	gate     *gate
}

// StartLink forwards connections from a new address to a target, until Stop is called.
func StartLink(target string) *Link {
	listener := steps.Value(net.Listen("tcp", "127.0.0.1:0"))
	l := &Link{Address: listener.Addr().String(), target: target, listener: listener, gate: newGate()}
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.accept()
	return l
}

// Cut stops all traffic, like a network that drops all packets. Open connections become silent, and new connections get
// no response.
func (l *Link) Cut() { l.gate.shut() }

// Mend restores all traffic. Data that was sent during the cut is then delivered.
func (l *Link) Mend() { l.gate.open() }

// Stop closes all connections.
func (l *Link) Stop() {
	l.stop()
	_ = l.listener.Close() // an error means that it was already closed
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

// serve forwards the data of a connection in both directions, until one side closes it.
func (l *Link) serve(client net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer client.Close()
	if l.gate.pass(ctx) != nil {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", l.target)
	if err != nil {
		return // the deferred call closes the client's connection
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
	_, _ = client.Close(), server.Close() // this ends both calls of copy
	ways.Wait()
}

// copy forwards the data of one direction. It waits while the link is cut.
func (l *Link) copy(ctx context.Context, to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		// While the link is cut, the other side must not see that the connection was closed.
		if l.gate.pass(ctx) != nil {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
