package apiclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// batchedPipe returns a connection with batched reads and its other end.
func batchedPipe(t *testing.T) (net.Conn, io.Writer) {
	t.Helper()
	ours, theirs := net.Pipe()
	dial := batched(func(context.Context, string, string) (net.Conn, error) { return ours, nil })
	conn, err := dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), theirs.Close() })
	return conn, theirs
}

// took returns the duration of a Read in virtual time.
func took(t *testing.T, conn io.Reader, size int) time.Duration {
	t.Helper()
	begin := time.Now()
	if _, err := conn.Read(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestEventsWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server := batchedPipe(t)
		go func() {
			for range 3 {
				_, _ = server.Write([]byte("event"))
			}
			time.Sleep(time.Minute)
			_, _ = server.Write([]byte("event"))
		}()
		for i, want := range []time.Duration{0, 0, window, time.Minute} {
			if got := took(t, conn, 100); got != want {
				t.Errorf("event %d was read after %s, want %s", i+1, got, want)
			}
		}
	})
}

// TestListsWaitShortly checks that reads within a list, and small reads in the window after it, only wait for listWait.
// In later windows, small reads count as events again.
func TestListsWaitShortly(t *testing.T) {
	const event = 5
	parts := []struct {
		size        int
		after, want time.Duration
	}{
		{size: listBytes},
		{size: listBytes},
		{size: listBytes, want: listWait},
		{size: event, want: listWait},
		{size: event, want: listWait},
		{size: event, after: time.Second, want: time.Second},
		{size: event},
		{size: event, after: time.Second, want: time.Second},
		{size: event},
		{size: event, want: window},
	}
	synctest.Test(t, func(t *testing.T) {
		conn, server := batchedPipe(t)
		go func() {
			for _, part := range parts {
				time.Sleep(part.after)
				_, _ = server.Write(make([]byte, part.size))
			}
		}()
		for i, part := range parts {
			if got := took(t, conn, listBytes+1); got != part.want {
				t.Errorf("part %d was read after %s, want %s", i+1, got, part.want)
			}
		}
	})
}

func TestCloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server := batchedPipe(t)
		go func() { _, _ = server.Write([]byte("12")) }()
		took(t, conn, 1)
		took(t, conn, 100)
		begin := time.Now()
		go func() { _ = conn.Close() }()
		if n, err := conn.Read(make([]byte, 100)); err == nil || time.Since(begin) != 0 {
			t.Errorf("read %d bytes after %s from a closed connection, %v", n, time.Since(begin), err)
		}
	})
}

// TestHTTP2 sends a list and events over a real HTTP/2 connection with TLS.
func TestHTTP2(t *testing.T) {
	list := bytes.Repeat([]byte("a list. "), 1<<20)
	var want bytes.Buffer
	want.Write(list)
	for i := range 50 {
		fmt.Fprintf(&want, "event %d\n", i)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(list)
		for i := range 50 {
			_ = http.NewResponseController(w).Flush()
			fmt.Fprintf(w, "event %d\n", i)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, Dial: batched(nil)}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.ProtoMajor != 2 || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got %d bytes of %d over %s, %v", len(got), want.Len(), answer.Proto, err)
	}
}
