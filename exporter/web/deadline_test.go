package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

const (
	// buffer is the size of the socket buffers at each end. large is far more than the buffers can hold.
	buffer = 16 << 10
	large  = 2 << 20
)

// talkative is a gatherer with a large result.
type talkative struct{}

func (talkative) Gather() ([]*dto.MetricFamily, error) {
	name, help := "long", strings.Repeat("long", large/4)
	return []*dto.MetricFamily{{
		Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: new(1.0)}}},
	}}, nil
}

// TestClientsThatDoNotReadAreDisconnected checks that clients that never read do not block others. It waits without a
// time limit, so that it also passes on slow machines.
func TestClientsThatDoNotReadAreDisconnected(t *testing.T) {
	long := incident.Incident{ID: "long", Summary: strings.Repeat("long", large/4)}
	cluster := clusterWith([]incident.Incident{long}, at(0))
	handler := handlerOf(t, talkative{}, cluster)
	for path, room := range map[string]int{"/metrics": maxScrapes, "/flaps": maxReaders, "/api/v1/incidents": maxReaders} {
		answered := make(chan struct{}, room+1)
		s := withSmallBuffers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r)
			answered <- struct{}{}
		}))
		for range room {
			askAndDoNotRead(t, s, path)
		}
		for range room {
			<-answered // without the deadline, the test would never end
		}
		response, body := get(t, s, path, http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {"3600"}})
		if len(body) < large || response.StatusCode != http.StatusOK {
			t.Errorf("%s: a client that reads is answered with %s and %d bytes", path, response.Status, len(body))
		}
	}
}

func withSmallBuffers(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connection, ok := c.(*net.TCPConn); !ok || connection.SetWriteBuffer(buffer) != nil {
			t.Error("the buffer stays large")
		}
		return ctx
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// askAndDoNotRead sends a request with a scrape timeout of 50 ms and never reads the response.
func askAndDoNotRead(t *testing.T, s *httptest.Server, path string) {
	t.Helper()
	connection, err := net.DialTCP("tcp", nil, s.Listener.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetReadBuffer(buffer); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, "GET "+path+" HTTP/1.1\r\nHost: x\r\nX-Prometheus-Scrape-Timeout-Seconds: 0.05\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

func TestDeadlineOfAnAnswer(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 10 * time.Second, "2.5": 2500 * time.Millisecond, "30": 30 * time.Second, "3600": time.Minute, "1e300": time.Minute,
		"soon": 10 * time.Second, "NaN": 10 * time.Second, "0": 10 * time.Second, "-5": 10 * time.Second,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", header)
		if got := timeoutOf(r); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
