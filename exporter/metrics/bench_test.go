package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// size defines a benchmark cluster.
type size struct{ nodes, services int }

func sizes() map[string]size {
	return map[string]size{"small": {100, 200}, "medium": {1000, 2000}, "large": {5000, 10000}}
}

// cluster returns a tracker with a cluster of this size, and its metrics page. Each Service has 15 addresses.
func cluster(s size) (*track.Tracker, *Page) {
	tracker := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	c := NewCollector(tracker, correlate.New(100), time.Now)
	list := func(kind event.Kind, n int, object func(int) event.Object) {
		feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Listing})
		for i := range n {
			feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Listed, Object: object(i)})
		}
		feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Synced})
	}
	list(event.KindNode, s.nodes, func(i int) event.Object { return benchNode(i, event.StatusTrue) })
	list(event.KindLease, s.nodes, func(i int) event.Object {
		return &event.Lease{Meta: meta("lease", i), RenewTime: time.Now()}
	})
	list(event.KindService, s.services, func(i int) event.Object {
		return &event.Service{Meta: meta("service", i), Type: "ClusterIP", Selector: map[string]string{"app": "web"}}
	})
	list(event.KindEndpointSlice, s.services, benchSlice)
	page := NewPage(prometheus.NewRegistry())
	page.Add(c, "")
	return tracker, page
}

func scrapeHandler(page *Page, format expfmt.FormatType) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		scrape, err := page.Scrape()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer scrape.Done()
		_ = scrape.Write(w, expfmt.NewFormat(format)) // an error means that the client has disconnected
	}
}

func meta(kind string, i int) event.Meta {
	name := fmt.Sprintf("workload-%d", i)
	return event.Meta{UID: event.ParseUID(kind + name), Namespace: fmt.Sprintf("namespace-%d", i%50), Name: name}
}

func benchNode(i int, status event.Status) *event.Node {
	return &event.Node{Meta: meta("node", i), Ready: &event.Condition{Status: status}}
}

func benchSlice(i int) event.Object {
	o := &event.EndpointSlice{Meta: meta("slice", i), Service: meta("", i).Name, Owner: meta("service", i).UID}
	for j := range 15 {
		o.Addresses = append(o.Addresses, event.Address{UID: meta("pod", i*15+j).UID, IP: "10.0.0.1", Ready: true})
	}
	return o
}

func BenchmarkScrape(b *testing.B) {
	benchmark(b, scrapeHandler)
}

// BenchmarkLibrary writes the same metrics with client_golang's registry and expfmt.
func BenchmarkLibrary(b *testing.B) {
	benchmark(b, func(page *Page, format expfmt.FormatType) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			families, err := page.Gather()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			encoder := expfmt.NewEncoder(w, expfmt.NewFormat(format))
			for _, family := range families {
				_ = encoder.Encode(family) // an error means that the client has disconnected
			}
		}
	})
}

func benchmark(b *testing.B, handler func(*Page, expfmt.FormatType) http.HandlerFunc) {
	b.Helper()
	for format, kind := range map[string]expfmt.FormatType{"text": expfmt.TypeTextPlain, "protobuf": expfmt.TypeProtoDelim} {
		for name, s := range sizes() {
			b.Run(format+"/"+name, func(b *testing.B) {
				_, page := cluster(s)
				handle := handler(page, kind)
				b.ReportAllocs()
				for b.Loop() {
					response := counted{httptest.NewRecorder(), new(int64)}
					handle(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
					b.SetBytes(*response.bytes)
				}
			})
		}
	}
}

// counted is a ResponseWriter that only counts the bytes.
type counted struct {
	http.ResponseWriter
	bytes *int64
}

func (c counted) Write(p []byte) (int, error) {
	*c.bytes += int64(len(p))
	return len(p), nil
}

// BenchmarkEventToMetrics measures the time from an event to the end of the scrape that includes it, at 500 events
// per second.
func BenchmarkEventToMetrics(b *testing.B) {
	for name, s := range sizes() {
		b.Run(name, func(b *testing.B) {
			tracker, page := cluster(s)
			server := httptest.NewServer(scrapeHandler(page, expfmt.TypeTextPlain))
			defer server.Close()
			stop := make(chan struct{})
			defer close(stop)
			go renew(tracker, s.nodes, stop)
			var took []time.Duration
			status := event.StatusTrue
			for b.Loop() {
				status = event.StatusTrue + event.StatusFalse - status
				start := time.Now()
				tracker.Apply(event.Event{Seen: start, Kind: event.KindNode, Type: event.Modified, Object: benchNode(0, status)})
				fetch(b, server.URL)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
		})
	}
}

func fetch(b *testing.B, url string) {
	b.Helper()
	response, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		b.Fatal(err)
	}
}

// renew renews one Lease every 2 ms, for all nodes in turn.
func renew(tracker *track.Tracker, nodes int, stop <-chan struct{}) {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			lease := &event.Lease{Meta: meta("lease", i%nodes), RenewTime: now}
			tracker.Apply(event.Event{Seen: now, Kind: event.KindLease, Type: event.Modified, Object: lease})
		}
	}
}
