package contract

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// replica is a running kubeflap.
type replica struct {
	name      string
	cluster   *cluster
	tracker   *track.Tracker
	incidents *correlate.Log
	collector *metrics.Collector
	// recorded holds the events that the replica has received, as in --data.dir.
	recorded []event.Event
	// broken holds the resources whose watch does not work.
	broken map[event.Kind]bool
	// stopped is set while no process runs. A replica that is out of reach works, but Prometheus cannot scrape it.
	stopped, outOfReach bool
	// hung is set if the replica has lost its connections to the API server. It still serves its metrics.
	hung bool
	// frozen is set while the watches deliver nothing, although their connections stay open, and direct reads are refused.
	// They deliver the events in held later.
	frozen bool
	held   []event.Event
	// target holds more labels of the target.
	target []string
	// process holds the metrics of the process by name.
	process map[string]float64
	// lacks is a metric that this version does not have.
	lacks string
}

// watch adds a kubeflap that has listed all objects.
func (c *cluster) watch(name string) *replica {
	r := &replica{name: name, cluster: c}
	c.replicas = append(c.replicas, r)
	r.begin()
	r.list()
	c.in(time.Second, r.tick)
	c.in(time.Minute, r.bookmark)
	return r
}

// begin makes the replica start with an empty state.
func (r *replica) begin() {
	r.stopped, r.hung, r.broken = false, false, map[event.Kind]bool{}
	r.process = map[string]float64{"kubeflap_build_info": 1}
	r.tracker = track.New(track.Settings{})
	r.incidents = correlate.New(100)
	r.collector = metrics.NewCollector(r.tracker, r.incidents, func() time.Time {
		r.observe(r.tracker.Advance(r.cluster.now))
		return r.cluster.now
	})
}

// restart stops the replica. A new process starts later. With keep, it replays the events that the old one recorded.
func (r *replica) restart(away time.Duration, keep bool) {
	r.stopped = true
	for _, k := range slices.Concat(event.Kinds(), event.OptionalKinds()) {
		r.recorded = append(r.recorded, event.Event{Seen: r.cluster.now, Kind: k, Type: event.Down, Reason: event.ReasonNotRunning})
	}
	r.cluster.in(away, func() {
		r.begin()
		if keep {
			r.resume()
		}
		r.list()
	})
}

// resume does what kubeflap does with the recording of an earlier process.
func (r *replica) resume() {
	quietly := func(e event.Event) { r.incidents.Observe(r.tracker.Apply(e)...) }
	for _, e := range r.recorded {
		quietly(e)
	}
	last := r.recorded[len(r.recorded)-1].Seen
	for _, k := range slices.Concat(event.Kinds(), event.OptionalKinds()) {
		quietly(event.Event{Seen: last, Kind: k, Type: event.Down, Reason: event.ReasonNotRunning})
	}
	r.tracker.StartCounting(last)
	r.incidents.StartCounting(last)
}

// list lists all objects, or those of some resources.
func (r *replica) list(kinds ...event.Kind) {
	if len(kinds) == 0 {
		r.receive(event.Event{Seen: r.cluster.now, Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: r.cluster.version}})
		kinds = slices.Concat(event.Kinds(), event.OptionalKinds())
	}
	for _, k := range kinds {
		r.broken[k] = false
		r.receive(event.Event{Seen: r.cluster.now, Kind: k, Type: event.Listing})
		for _, o := range r.cluster.listed(k) {
			r.receive(event.Event{Seen: r.cluster.now, Kind: k, Type: event.Listed, Object: o})
		}
		r.receive(event.Event{Seen: r.cluster.now, Kind: k, Type: event.Synced})
	}
}

// hangs cuts the connections of the replica to the API server, so that they deliver nothing. After 90 s, kubeflap closes
// such watches, and cannot list again.
func (r *replica) hangs() {
	r.hung = true
	for _, k := range slices.Concat(event.Kinds(), event.OptionalKinds()) {
		r.broken[k] = true
		r.cluster.in(90*time.Second, func() { r.down(k, event.ReasonSilent) })
	}
}

// freezes makes the watches deliver nothing for a time, and then all events at once.
func (r *replica) freezes(d time.Duration) {
	r.frozen = true
	r.cluster.in(d, func() {
		held := r.held
		r.frozen, r.held = false, nil
		for _, e := range held {
			e.Seen = r.cluster.now
			r.receive(e)
		}
	})
}

// breaks breaks the watches of some resources.
func (r *replica) breaks(kinds ...event.Kind) {
	for _, k := range kinds {
		r.down(k, event.ReasonConnectionLost)
	}
}

func (r *replica) down(k event.Kind, why event.Reason) {
	r.broken[k] = false
	r.receive(event.Event{Seen: r.cluster.now, Kind: k, Type: event.Down, Reason: why})
	r.broken[k] = true
}

func (r *replica) receive(e event.Event) {
	if r.stopped || r.broken[e.Kind] {
		return
	}
	if r.frozen {
		r.held = append(r.held, e)
		return
	}
	r.recorded = append(r.recorded, e)
	r.observe(r.tracker.Apply(e))
}

func (r *replica) observe(found []transition.Transition) {
	for _, x := range found {
		r.collector.Observe(x)
	}
	r.incidents.Observe(found...)
}

// tick reads Leases directly if kubeflap would.
func (r *replica) tick() {
	defer r.cluster.in(time.Second, r.tick)
	if r.stopped {
		return
	}
	r.observe(r.tracker.Advance(r.cluster.now))
	names := r.tracker.LeasesToRead(r.cluster.now)
	if len(names) == 0 {
		return
	}
	r.reads(event.DirectReadStarted, nil, "")
	switch {
	case r.frozen:
		r.reads(event.DirectReadAnswered, nil, event.ReasonForbidden)
	case r.hung:
		r.cluster.in(900*time.Millisecond, func() { r.reads(event.DirectReadUnanswered, nil, event.ReasonTimeout) })
	case r.cluster.stalled:
		r.cluster.in(900*time.Millisecond, func() { r.reads(event.DirectReadAnswered, nil, event.NotReady("etcd")) })
	default:
		for _, name := range names {
			if n := r.cluster.nodes[name]; n != nil {
				r.reads(event.DirectReadLease, n.lease, "")
			}
		}
		r.reads(event.DirectReadAnswered, nil, "")
	}
}

// reads passes a step of a direct read to the tracker.
func (r *replica) reads(t event.Type, o event.Object, why event.Reason) {
	e := event.Event{Seen: r.cluster.now, Kind: event.KindLease, Type: t, Object: o, Reason: why}
	r.recorded = append(r.recorded, e)
	r.observe(r.tracker.Apply(e))
}

// bookmark sends a bookmark to each watch. The API server does so about once a minute.
func (r *replica) bookmark() {
	for _, k := range slices.Concat(event.Kinds(), event.OptionalKinds()) {
		r.receive(event.Event{Seen: r.cluster.now, Kind: k, Type: event.Bookmark})
	}
	r.cluster.in(time.Minute, r.bookmark)
}

// read decodes a scrape.
func (r *replica) read() (map[string]*dto.MetricFamily, error) {
	page := metrics.NewPage(prometheus.NewRegistry())
	page.Add(r.collector, "")
	scrape, err := page.Scrape()
	if err != nil {
		return nil, err //nolint:wrapcheck // the test prints it
	}
	defer scrape.Done()
	var text bytes.Buffer
	if err := scrape.Write(&text, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		return nil, err //nolint:wrapcheck // the test prints it
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(&text) //nolint:wrapcheck // the test prints it
}

// gathered reads the metrics once, for several scrapes. If no process runs or Prometheus cannot reach it, there are
// none.
func (r *replica) gathered() prometheus.Gatherer {
	if r.stopped || r.outOfReach {
		return prometheus.Gatherers{}
	}
	byName, err := r.read()
	families := slices.DeleteFunc(slices.Collect(maps.Values(byName)), func(f *dto.MetricFamily) bool { return f.GetName() == r.lacks })
	for name, value := range r.process {
		families = append(families, &dto.MetricFamily{Name: &name, Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &value}}}})
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, err })
}
