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

	"github.com/prometheus/client_golang/prometheus"
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
	handler := handlerOf(t, prometheus.NewRegistry(), talkative{}, cluster)
	for path, room := range map[string]int{"/metrics": maxScrapes, "/metrics?name[]=long": maxScrapes, "/flaps": maxReaders, "/api/v1/incidents": maxReaders} {
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
	for name, c := range map[string]struct {
		header string
		server *http.Server
		want   time.Duration
	}{
		"no header":                          {"", nil, 10 * time.Second},
		"Prometheus with a shorter interval": {"2.5", nil, 2500 * time.Millisecond},
		"with a longer one":                  {"30", &http.Server{WriteTimeout: time.Minute}, 30 * time.Second},
		"more than the server allows":        {"3600", &http.Server{WriteTimeout: time.Minute}, time.Minute},
		"more than a server without a limit": {"1e300", &http.Server{}, 10 * time.Second},
		"less than the default is allowed":   {"", &http.Server{WriteTimeout: time.Second}, time.Second},
		"no number":                          {"soon", nil, 10 * time.Second},
		"not a number":                       {"NaN", nil, 10 * time.Second},
		"infinite":                           {"+Inf", nil, 10 * time.Second},
		"nothing":                            {"0", nil, 10 * time.Second},
		"less than nothing":                  {"-5", nil, 10 * time.Second},
		"too little to be counted":           {"1e-300", nil, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
			r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", c.header)
			if got := timeoutOf(r, c.server); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
