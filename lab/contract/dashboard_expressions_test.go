package contract

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// foreign lists metrics that kubeflap does not declare. They come from Prometheus, from libraries of
// kubeflap, or from kube-proxy.
var foreign = map[string]Metric{
	"up":                            {"gauge", nil},
	"scrape_duration_seconds":       {"gauge", nil},
	"scrape_samples_scraped":        {"gauge", nil},
	"ALERTS":                        {"gauge", []string{"alertname", "alertstate", "severity", "namespace", "service", "node"}},
	"ALERTS_FOR_STATE":              {"gauge", []string{"alertname", "severity", "namespace", "service", "node"}},
	"process_resident_memory_bytes": {"gauge", nil},
	"process_cpu_seconds_total":     {"counter", nil},

	"kubeproxy_sync_proxy_rules_last_timestamp_seconds":     {"gauge", nil},
	"kubeproxy_network_programming_duration_seconds_bucket": {"counter", []string{"le"}},
}

// scraped adds the metrics that kubeflap does not declare, and the labels of the targets.
func scraped(all map[string]Metric) map[string]Metric {
	more := maps.Clone(foreign)
	maps.Copy(more, all)
	for name, m := range more {
		m.Labels = append(slices.Clone(m.Labels), "instance", "job")
		if strings.HasPrefix(name, "kubeflap_watch_") {
			m.Labels = append(m.Labels, "namespace")
		}
		more[name] = m
	}
	return more
}

// known returns an error if a metric or a label in the expression does not exist. It also checks the labels in more.
func known(all map[string]Metric, expr parser.Expr, more ...string) error {
	has := setOf("", "cluster")
	var errs []error
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		more = append(more, askedBy(node)...)
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, ok := all[v.Name]
		if !ok {
			errs = append(errs, fmt.Errorf("unknown metric %q", v.Name))
		}
		own := setOf(append(m.Labels, "cluster")...)
		for _, matcher := range v.LabelMatchers {
			if matcher.Name != "__name__" && !own[matcher.Name] {
				errs = append(errs, fmt.Errorf("%s has no label %q", v.Name, matcher.Name))
			}
		}
		maps.Copy(has, own)
		return nil
	})
	for _, label := range more {
		if !has[label] {
			errs = append(errs, fmt.Errorf("no metric in %s has the label %q", expr, label))
		}
	}
	return errors.Join(errs...)
}

// askedBy returns the labels by which a node of an expression aggregates or joins.
func askedBy(node parser.Node) []string {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include)
		}
	}
	return nil
}

func TestDashboardsAskForWhatExists(t *testing.T) {
	all := scraped(dictionary(t))
	placeholder := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, d := range dashboards(t) {
		eachTarget(t, d, func(_ panel, q target, expr parser.Expr) error {
			var legend []string
			for _, match := range placeholder.FindAllStringSubmatch(q.LegendFormat, -1) {
				legend = append(legend, match[1])
			}
			return known(all, expr, legend...)
		})
		for _, a := range d.Annotations.List {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(a.Expr)
			if err == nil {
				err = known(all, expr)
			}
			if err != nil {
				t.Errorf("%s: annotation %q: %v", d.File, a.Name, err)
			}
		}
	}
}

// A selector must use each variable of the dashboard for which its metric has a label. An incident of a node has no
// namespace, so the matcher for the namespace may also accept an empty label. Recorded series have no labels of targets,
// and kube-proxy is another target than kubeflap.
func TestDashboardsObeyTheirVariables(t *testing.T) {
	all := dictionary(t)
	for _, d := range dashboards(t) {
		names := []string{"cluster"}
		for _, v := range d.Templating.List {
			if slices.Contains([]string{"job", "instance", "namespace", "service", "node"}, v.Name) {
				names = append(names, v.Name)
			}
		}
		if ofTargets := slices.Contains(names, "job") && slices.Contains(names, "instance"); ofTargets == (d.UID == fleetUID) {
			t.Errorf("%s: the variables are %q", d.File, names)
		}
		eachNode(t, d, func(node parser.Node, _ []parser.Node) error {
			v, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			for _, name := range names {
				ofTarget := name == "job" || name == "instance"
				if ofTarget && strings.HasPrefix(v.Name, "kubeproxy_") || !ofTarget && name != "cluster" && !slices.Contains(all[v.Name].Labels, name) {
					continue
				}
				if !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
					return m.Name == name && m.Type == labels.MatchRegexp && (m.Value == "$"+name || m.Value == "$"+name+"|")
				}) {
					return fmt.Errorf(`%s without %s=~"$%s"`, v, name, name)
				}
			}
			return nil
		})
	}
}

// A join or an aggregation by a node, a namespace or a Service must also be by cluster. Otherwise it mixes objects of
// different clusters.
func TestDashboardsKeepClustersApart(t *testing.T) {
	for _, d := range dashboards(t) {
		eachNode(t, d, func(node parser.Node, _ []parser.Node) error {
			by := askedBy(node)
			object := slices.Contains(by, "node") || slices.Contains(by, "namespace") || slices.Contains(by, "service")
			if object && !slices.Contains(by, "cluster") {
				return fmt.Errorf("%s does not aggregate or match by cluster", node)
			}
			return nil
		})
	}
}
