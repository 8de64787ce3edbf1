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

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// replica is a running kubeflap.
type replica struct {
	name      string
	world     *world
	watcher   *clustertest.Watcher
	tracker   *track.Tracker
	incidents *correlate.Log
	collector *metrics.Collector
	// recorded holds the events that the replica has received, as in --data.dir.
	recorded []event.Event
	// stopped is set while no process runs. A replica that is out of reach works, but Prometheus cannot scrape it.
	stopped, outOfReach bool
	// target holds more labels of the target.
	target []string
	// process holds the metrics of the process by name.
	process map[string]float64
	// hides is a metric that this version does not have.
	hides string
}

// begin makes the replica start with an empty state.
func (r *replica) begin() {
	r.stopped = false
	r.process = map[string]float64{"kubeflap_build_info": 1}
	r.tracker = track.New(track.Settings{})
	r.incidents = correlate.New(100)
	r.collector = metrics.NewCollector(r.tracker, r.incidents, func() time.Time {
		r.observe(r.tracker.Advance(r.world.Now))
		return r.world.Now
	})
}

// happens schedules what happens to the process. It reports whether there is a word for it.
func (r *replica) happens(a clustertest.Act) bool {
	at := func(second float64, do func()) bool { r.world.At(second, do); return true }
	switch a.Verb {
	case "stop":
		return at(a.At, func() { r.stopped = true })
	case "unreachable":
		at(a.At, func() { r.outOfReach = true })
		return at(a.Until, func() { r.outOfReach = false })
	case "restart": // with the events that the old process recorded, or with an empty directory
		at(a.At, r.end)
		return at(a.Until, func() { r.restart(!slices.Contains(a.Args, "empty")) })
	case "exposes":
		return at(a.At, func() { r.process[a.Args[0]] = a.Number(a.Args[0]) })
	case "hides":
		return at(a.At, func() { r.hides = a.Args[0] })
	}
	return false
}

// end ends the process.
func (r *replica) end() {
	r.stopped = true
	for _, k := range slices.Concat(event.Kinds(), event.OptionalKinds()) {
		r.recorded = append(r.recorded, event.Event{Seen: r.world.Now, Kind: k, Type: event.Down, Reason: event.ReasonNotRunning})
	}
}

// restart starts another process. If keep is set, it replays the recording of the one before.
func (r *replica) restart(keep bool) {
	r.begin()
	if keep {
		r.resume()
	}
	r.watcher.Start()
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

func (r *replica) receive(e event.Event) {
	if r.stopped {
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

// tick lets time pass. It reads Leases directly if kubeflap would.
func (r *replica) tick() {
	defer r.world.After(time.Second, r.tick)
	if r.stopped {
		return
	}
	r.observe(r.tracker.Advance(r.world.Now))
	if r.tracker.LeasesBehind(r.world.Now) {
		r.watcher.Reopen()
	}
	if names := r.tracker.LeasesToRead(r.world.Now); len(names) > 0 {
		r.watcher.ReadLeases(names)
	}
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
	families := slices.DeleteFunc(slices.Collect(maps.Values(byName)), func(f *dto.MetricFamily) bool { return f.GetName() == r.hides })
	for name, value := range r.process {
		families = append(families, &dto.MetricFamily{Name: &name, Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &value}}}})
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, err })
}
