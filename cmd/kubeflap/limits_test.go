package main

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLimits checks that each listener has all limits.
func TestLimits(t *testing.T) {
	s := newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("no limit: %+v", s)
	}
	for name, address := range map[string]string{"main": start(t, ""), "probes": startProbes(t)} {
		for part, url := range map[string]string{"a query": "/-/healthy?x=" + strings.Repeat("x", 64<<10), "a path": "/" + strings.Repeat("x", 64<<10)} {
			if got := (visitor{}).status(t, "http://"+address+url); got != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s: %s of 64 KiB is answered with %d, want 431", name, part, got)
			}
		}
	}
}

// TestSlowClientsAreDisconnected waits until the server closes the connection. It waits without a time limit, so that
// it also passes on slow machines.
func TestSlowClientsAreDisconnected(t *testing.T) {
	const short = 20 * time.Millisecond
	for name, c := range map[string]struct {
		shorten func(*http.Server)
		says    string
	}{
		"says nothing":          {func(s *http.Server) { s.ReadHeaderTimeout = short }, ""},
		"does not end a header": {func(s *http.Server) { s.ReadHeaderTimeout = short }, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "},
		"does not send a body":  {func(s *http.Server) { s.ReadTimeout = short }, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"},
		"asks no more":          {func(s *http.Server) { s.IdleTimeout = short }, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			connection := connectTo(t, c.shorten, http.NotFoundHandler())
			if _, err := io.WriteString(connection, c.says); err != nil {
				t.Fatal(err)
			}
			// Without the limit, the test would never end.
			if _, err := io.Copy(io.Discard, connection); err != nil && !errors.Is(err, io.EOF) {
				t.Log(err)
			}
		})
	}
	t.Run("does not read the answer", func(t *testing.T) {
		failed := make(chan error, 1)
		connection := connectTo(t, func(s *http.Server) { s.WriteTimeout = short }, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			piece := make([]byte, 1<<20)
			for {
				if _, err := w.Write(piece); err != nil {
					failed <- err
					return
				}
			}
		}))
		if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it ended by %v", err)
		}
	})
}

// connectTo connects to a server with one shortened limit.
func connectTo(t *testing.T, shorten func(*http.Server), handler http.Handler) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(handler, slog.New(slog.DiscardHandler))
	shorten(server)
	go func() { _ = server.Serve(listener) }() // serve returns when the server is closed
	t.Cleanup(func() { _ = server.Close() })
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// TestABodyIsNotWaitedFor checks that the server responds before a request's body is sent, because it does not read
// bodies.
func TestABodyIsNotWaitedFor(t *testing.T) {
	connection, err := net.Dial("tcp", start(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%v %v", response, err)
	}
}
