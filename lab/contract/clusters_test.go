package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Nodes and Services of two clusters may have the same names. So each aggregation must be by cluster, and each vector
// match must be on cluster. Each query in an annotation must select one cluster.
func TestNothingIsJoinedAcrossClusters(t *testing.T) {
	for _, r := range rules(t) {
		for _, problem := range joins(t, r.Expr, false) {
			t.Errorf("%s, %s: %s", r.File, r.Name(), problem)
		}
		for _, query := range queries(t, r) {
			for _, problem := range joins(t, query, true) {
				t.Errorf("%s, %s: a query in an annotation does not select the cluster: %s", r.File, r.Name(), problem)
			}
		}
	}
}

// joins lists the parts of an expression that mix clusters. If ofOne is set, each selector must have a matcher for one
// cluster.
func joins(t *testing.T, expr string, ofOne bool) (problems []string) {
	t.Helper()
	e, err := ParseExpr(expr)
	if err != nil {
		t.Fatal(err)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		joined := false
		switch x := n.(type) {
		case *parser.AggregateExpr:
			joined = !ofOne && (x.Without || !slices.Contains(x.Grouping, "cluster"))
		case *parser.BinaryExpr:
			m := x.VectorMatching
			// Without an on clause, all labels must match, including cluster.
			joined = !ofOne && m != nil && m.On == !slices.Contains(m.MatchingLabels, "cluster")
		case *parser.VectorSelector:
			joined = ofOne && !slices.ContainsFunc(x.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "cluster" && m.Type == labels.MatchEqual })
		}
		if joined {
			problems = append(problems, fmt.Sprint(n))
		}
		return nil
	})
	return problems
}

func TestJoinsAreFound(t *testing.T) {
	for _, x := range []struct {
		expr  string
		ofOne bool
		want  int
	}{
		{expr: `max by (cluster, node) (x) > on (cluster) group_left () max by (cluster) (y)`},
		{expr: `x or y`},
		{expr: `max by (node) (x)`, want: 1},
		{expr: `max without (instance) (x)`, want: 1},
		{expr: `x and on (node) y`, want: 1},
		{expr: `x and ignoring (cluster) y`, want: 1},
		{expr: `max(x{cluster="x"}) or vector(1)`, ofOne: true},
		{expr: `max(x{cluster="x"}) or y{cluster=~".+"}`, ofOne: true, want: 1},
	} {
		if got := joins(t, x.expr, x.ofOne); len(got) != x.want {
			t.Errorf("%s: %q, want %d", x.expr, got, x.want)
		}
	}
}

// A Prometheus that scrapes all four clusters must fire the same alerts as four Prometheus servers that scrape one
// cluster each. The texts must be the same, too. The clusters have the same names of nodes, Services and targets, but
// different faults.
func TestClustersTogetherFireAsEachAlone(t *testing.T) {
	var clusters []*clusterAlone
	together := newEvaluator(t)
	for i, fault := range []func(*cluster){kubeletStops, func(*cluster) {}, etcdStalls, batchUpgrade} {
		clusters = append(clusters, newClusterAlone(t, []string{"eu", "us", "ap", "br"}[i], fault))
	}
	fired := map[string]int{}
	for range 60 {
		var want, got []string
		var at time.Time
		for _, c := range clusters {
			at = c.now.Add(30 * time.Second)
			c.runUntil(at)
			c.alone.scrape(at, c.collector, "a")
			together.scrape(at, c.collector, "a", "cluster", c.name)
			for _, a := range c.alone.evaluate(at) {
				want = append(want, textOf(a.Labels, a.Annotations, ""))
				fired[c.name]++
			}
		}
		for _, a := range together.evaluate(at) {
			got = append(got, textOf(a.Labels, a.Annotations, a.Labels.Get("cluster")))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("at %s, all clusters together fire\n%s\nwant\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if fired["eu"] == 0 || fired["us"] != 0 || fired["ap"] == 0 || fired["br"] == 0 {
		t.Errorf("unexpected number of alerts per cluster: %v", fired)
	}
}

// clusterAlone is a cluster with its own Prometheus. Its series have no label cluster.
type clusterAlone struct {
	*cluster
	name  string
	alone *evaluator
}

func newClusterAlone(t *testing.T, name string, fault func(*cluster)) *clusterAlone {
	c := populated(9, (*cluster).shop)
	c.in(4*time.Minute+15*time.Second, func() { fault(c) })
	return &clusterAlone{c, name, newEvaluator(t)}
}

// textOf formats an alert as text, without the name of its cluster.
func textOf(own, annotations labels.Labels, cluster string) string {
	text := labels.NewBuilder(own).Del("cluster").Labels().String() + annotations.String()
	if cluster == "" {
		return text
	}
	return strings.NewReplacer(" of cluster "+cluster, "", "var-cluster="+cluster, "var-cluster=").Replace(text)
}

// A central ruler evaluates rules with a delay, because samples arrive late. So alerts keep firing for some time after
// their cluster is gone. The queries in their annotations then find no series. The texts must not say that an object
// was deleted, and must not have gaps.
func TestTextsOfAClusterThatIsGone(t *testing.T) {
	const late = time.Minute
	for i, fault := range []func(*cluster){kubeletStops, etcdStalls, batchUpgrade, slowKubelet} {
		c := newClusterAlone(t, "eu", fault)
		e := newLateEvaluator(t, late)
		gone := c.now.Add(11 * time.Minute)
		texts := map[string]bool{}
		for range 44 {
			at := c.now.Add(30 * time.Second)
			c.runUntil(at)
			if at.Before(gone) {
				e.scrape(at, c.collector, "a", "cluster", c.name)
			}
			for _, a := range e.evaluate(at) {
				if at.After(gone.Add(4 * time.Minute)) { // queries read samples of the last 5 minutes
					texts[a.Labels.Get("alertname")+": "+a.Annotations.Get("description")] = true
				}
			}
		}
		if len(texts) == 0 {
			t.Errorf("fault %d: nothing fires after the last samples", i)
		}
		for text := range texts {
			for _, wrong := range []string{"  ", " .", " ;", " ,", "was deleted", "%!"} {
				if strings.Contains(text, wrong) {
					t.Errorf("fault %d: %q in %s", i, wrong, text)
				}
			}
		}
	}
}

// The configuration in docs/fleet.md must send all series that the rules read to the central ruler. The page must state
// the size of the largest groups.
func TestFleetPageIsRight(t *testing.T) {
	page := readFile(t, "docs/fleet.md")
	_, after, _ := strings.Cut(page, "### Series for all rules")
	keep := regexp.MustCompile(`(?m)^ +regex: (\S+)$`).FindStringSubmatch(after)
	if keep == nil {
		t.Fatal("docs/fleet.md has no regex below \"Series for all rules\"")
	}
	sent := regexp.MustCompile("^(?:" + keep[1] + ")$")
	recorded, group := map[string]bool{}, map[string]int{}
	for _, r := range rules(t) {
		recorded[r.Record] = true
		group[r.Group]++
		expr, err := ParseExpr(r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && !recorded[v.Name] && !sent.MatchString(v.Name) {
				t.Errorf("%s reads %s, which docs/fleet.md does not send", r.Name(), v.Name)
			}
			return nil
		})
	}
	size := slices.Max(slices.Collect(maps.Values(group)))
	maps.DeleteFunc(group, func(_ string, n int) bool { return n < size })
	form := "`%s` has %d rules"
	if len(group) > 1 {
		form = "`%s` have %d rules each"
	}
	if want := fmt.Sprintf(form, strings.Join(slices.Sorted(maps.Keys(group)), "` and `"), size); !strings.Contains(page, want) {
		t.Errorf("docs/fleet.md does not contain: %s", want)
	}
}
