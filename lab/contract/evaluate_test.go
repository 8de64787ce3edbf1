package contract

import (
	"context"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	rulesapi "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/teststorage"
)

// evaluator has the parts of Prometheus that store samples and evaluate rules.
type evaluator struct {
	t       testing.TB
	storage *teststorage.TestStorage
	groups  []*rulesapi.Group
	// used holds the names of the metrics that the rules read. No other metrics are stored.
	used map[string]bool
	refs map[string]storage.SeriesRef
	// shown holds, by replica, the series in its last scrape.
	shown map[string]map[storage.SeriesRef]bool
}

// metricName matches the names of kubeflap's metrics.
var metricName = regexp.MustCompile(`kubeflap_\w+`)

func newEvaluator(t testing.TB) *evaluator {
	return evaluatorOf(t, teststorage.New(t, func(o *tsdb.Options) { o.EnableExemplarStorage, o.WALSegmentSize = false, -1 }))
}

// evaluatorOf returns an evaluator for samples that are already stored.
func evaluatorOf(t testing.TB, data *teststorage.TestStorage) *evaluator {
	e := &evaluator{t: t, storage: data, used: usedMetrics(t), refs: map[string]storage.SeriesRef{}, shown: map[string]map[storage.SeriesRef]bool{}}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100e6, Timeout: time.Minute, Logger: promslog.NewNopLogger()})
	t.Cleanup(func() { _ = engine.Close() })
	e.groups = loadRules(t, engine, data)
	for _, g := range e.groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true) // otherwise, the group does not write ALERTS
		}
	}
	return e
}

// usedMetrics returns the names of the metrics that the rules and their annotations read.
func usedMetrics(t testing.TB) map[string]bool {
	used := map[string]bool{}
	for _, file := range RuleFiles {
		for _, name := range metricName.FindAllString(readFile(t, "rules/"+file), -1) {
			used[name] = true
		}
	}
	return used
}

// ruleGroups returns the groups of each rule file by its path. It reads the files once, because that takes as long as
// several evaluations.
var ruleGroups = sync.OnceValues(func() (map[string]*rulefmt.RuleGroups, error) {
	all := map[string]*rulefmt.RuleGroups{}
	for _, file := range RuleFiles {
		groups, errs := rulefmt.ParseFile(RulePath(file), false, model.UTF8Validation, parser.NewParser(parser.Options{}), nil)
		if len(errs) > 0 {
			return nil, errs[0]
		}
		all[RulePath(file)] = groups
	}
	return all, nil
})

// loader loads the rules as Prometheus does.
type loader struct{}

func (loader) Load(path string, _ bool, _ model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	all, err := ruleGroups()
	if err != nil {
		return nil, []error{err}
	}
	return all[path], nil
}

func (loader) Parse(query string) (parser.Expr, error) { return ParseExpr(query) }

// loadRules returns the groups of all rules.
func loadRules(t testing.TB, engine *promql.Engine, data *teststorage.TestStorage) (all []*rulesapi.Group) {
	t.Helper()
	manager := rulesapi.NewManager(&rulesapi.ManagerOptions{
		QueryFunc: rulesapi.EngineQueryFunc(engine, data), Appendable: data, Queryable: data,
		Context: t.Context(), NotifyFunc: func(context.Context, string, ...*rulesapi.Alert) {},
		Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}), GroupLoader: loader{},
		DefaultRuleQueryOffset: func() time.Duration { return 0 },
	})
	for _, file := range RuleFiles {
		groups, errs := manager.LoadGroups(30*time.Second, labels.EmptyLabels(), "", nil, false, RulePath(file))
		if len(errs) > 0 {
			t.Fatal(errs[0])
		}
		all = slices.AppendSeq(all, maps.Values(groups))
	}
	return all
}

// scrape stores the metrics of a replica. The parameter target contains more target labels. A ServiceMonitor adds the label service.
func (e *evaluator) scrape(at time.Time, g prometheus.Gatherer, instance string, target ...string) {
	families := try(g.Gather())(e.t)
	app := e.storage.Appender(e.t.Context())
	target = append([]string{"instance", instance, "job", "kubeflap", "service", "kubeflap"}, target...)
	replica := strings.Join(target, "\xff")
	shown := map[storage.SeriesRef]bool{}
	put := func(name string, own []*dto.LabelPair, v float64, more ...string) {
		if e.used[name] {
			shown[e.append(app, at, slices.Concat([]string{"__name__", name}, target, more), own, v)] = true
		}
	}
	for _, f := range families {
		for _, m := range f.Metric {
			switch {
			case m.Counter != nil:
				put(f.GetName(), m.Label, m.Counter.GetValue())
			case m.Gauge != nil:
				put(f.GetName(), m.Label, m.Gauge.GetValue())
			case m.Histogram != nil:
				put(f.GetName()+"_count", m.Label, float64(m.Histogram.GetSampleCount()))
				put(f.GetName()+"_bucket", m.Label, float64(m.Histogram.GetSampleCount()), "le", "+Inf")
				for _, b := range m.Histogram.Bucket {
					put(f.GetName()+"_bucket", m.Label, float64(b.GetCumulativeCount()), "le", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
				}
			}
		}
	}
	for ref := range e.shown[replica] {
		if !shown[ref] { // mark a series that is no longer exposed as stale, as Prometheus does
			try(app.Append(ref, labels.EmptyLabels(), at.UnixMilli(), math.Float64frombits(value.StaleNaN)))(e.t)
		}
	}
	e.shown[replica] = shown
	must(e.t, app.Commit())
}

func (e *evaluator) append(app storage.Appender, at time.Time, target []string, own []*dto.LabelPair, v float64) storage.SeriesRef {
	var key strings.Builder
	for _, s := range target {
		key.WriteString(s + "\xff")
	}
	for _, l := range own {
		key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
	}
	ref, known := e.refs[key.String()]
	set := labels.EmptyLabels()
	if !known {
		b := labels.NewBuilder(labels.FromStrings(target...))
		for _, l := range own { // the series' own labels win, as with honor_labels
			b.Set(l.GetName(), l.GetValue())
		}
		set = b.Labels()
	}
	ref = try(app.Append(ref, set, at.UnixMilli(), v))(e.t)
	e.refs[key.String()] = ref
	return ref
}

// evaluate evaluates all rules and returns the firing alerts.
func (e *evaluator) evaluate(at time.Time) (firing []*rulesapi.Alert) {
	for _, g := range e.groups {
		g.Eval(e.t.Context(), at)
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil {
				e.t.Fatalf("%s: %v", r.Name(), err)
			}
		}
		for _, r := range g.AlertingRules() {
			for _, a := range r.ActiveAlerts() {
				if a.State == rulesapi.StateFiring {
					firing = append(firing, a)
				}
			}
		}
	}
	return firing
}
