package metrics

import (
	"fmt"
	"io"
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

// cluster returns the metrics page of a cluster of this size. Each Service has 15 addresses.
func cluster(s size) *Page {
	tracker := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	c := NewCollector(tracker, correlate.New(100), time.Now)
	list := func(kind event.Kind, n int, object func(int) event.Object) {
		feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Listing})
		for i := range n {
			feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Listed, Object: object(i)})
		}
		feed(c, tracker)(event.Event{Seen: time.Now(), Kind: kind, Type: event.Synced})
	}
	list(event.KindNode, s.nodes, func(i int) event.Object {
		return &event.Node{Meta: meta("node", i), Ready: &event.Condition{Status: event.StatusTrue}}
	})
	list(event.KindLease, s.nodes, func(i int) event.Object {
		return &event.Lease{Meta: meta("lease", i), RenewTime: time.Now()}
	})
	list(event.KindService, s.services, func(i int) event.Object {
		return &event.Service{Meta: meta("service", i), Type: "ClusterIP", Selector: map[string]string{"app": "web"}}
	})
	list(event.KindEndpointSlice, s.services, benchSlice)
	page := NewPage(prometheus.NewRegistry())
	page.Add(c, "")
	return page
}

func meta(kind string, i int) event.Meta {
	name := fmt.Sprintf("workload-%d", i)
	return event.Meta{UID: event.ParseUID(kind + name), Namespace: fmt.Sprintf("namespace-%d", i%50), Name: name}
}

func benchSlice(i int) event.Object {
	o := &event.EndpointSlice{Meta: meta("slice", i), Service: meta("", i).Name, Owner: meta("service", i).UID}
	for j := range 15 {
		o.Addresses = append(o.Addresses, event.Address{UID: meta("pod", i*15+j).UID, IP: "10.0.0.1", Ready: true})
	}
	return o
}

func BenchmarkScrape(b *testing.B) {
	for format, kind := range map[string]expfmt.FormatType{"text": expfmt.TypeTextPlain, "protobuf": expfmt.TypeProtoDelim} {
		for name, s := range sizes() {
			b.Run(format+"/"+name, func(b *testing.B) {
				page := cluster(s)
				b.ReportAllocs()
				for b.Loop() {
					scrape, err := page.Scrape()
					if err != nil {
						b.Fatal(err)
					}
					if err := scrape.Write(io.Discard, expfmt.NewFormat(kind)); err != nil {
						b.Fatal(err)
					}
					scrape.Done()
				}
			})
		}
	}
}
