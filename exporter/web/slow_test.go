package web

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pipes is a listener whose connections have no buffer, and deadlines at virtual time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSlowClientsLoseTheirPlaces checks that clients that do not read /metrics keep a scrape away only for scrapeWithin.
func TestSlowClientsLoseTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := prometheus.NewDesc("long", strings.Repeat("x", 10_000), nil, nil)
		handler := handlerOf(t, registryWith(func(to chan<- prometheus.Metric) {
			to <- prometheus.MustNewConstMetric(long, prometheus.GaugeValue, 1)
		}))
		listener, server := make(pipes), &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }()
		for range maxScrapes {
			client, accepted := net.Pipe()
			defer client.Close()
			listener <- accepted
			if _, err := io.WriteString(client, "GET /metrics HTTP/1.1\r\nHost: kubeflap\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		status := func() int {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			return answer.Code
		}
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("a scrape gets status %d while %d clients do not read, want 503", got, maxScrapes)
		}
		time.Sleep(scrapeWithin)
		synctest.Wait()
		if got := status(); got != http.StatusOK {
			t.Errorf("%v later, a scrape gets status %d, want 200", scrapeWithin, got)
		}
		_ = server.Close()
	})
}
