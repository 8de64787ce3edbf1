package contract

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

// In a recording from somebody else, a label can have any value. This value must not be interpreted as part of a
// template, of a query, or as another parameter of a link.
func TestHostileLabelsInAnnotations(t *testing.T) {
	const hostile = "a\"'}) or vector(1)#{{ query `up` }}&node=other&id=1#<script>\\\n%0a é"
	for _, r := range alerts(t) {
		values := map[string]string{}
		for _, l := range r.Labels {
			values[l] = hostile
		}
		maps.Copy(values, r.Rule.Labels)
		for name, text := range r.Annotations {
			got := expand(t, text, values, map[string]string{"cluster": "outer"})
			if strings.HasSuffix(name, "_url") {
				checkHostileLink(t, r.Alert+", "+name, got, hostile)
			}
		}
	}
}

// If Prometheus sets the label cluster only in external_labels, series do not have this label. Texts and links must
// still name the cluster, but queries must not match it. If a series has a label cluster, that label is used.
func TestClusterOfExternalLabels(t *testing.T) {
	for _, r := range alerts(t) {
		for _, own := range []string{"", "inner"} {
			values, want := map[string]string{"cluster": own}, cmp.Or(own, "outer")
			text := expand(t, r.Annotations["description"], values, map[string]string{"cluster": "outer"})
			if !strings.Contains(text, "cluster "+want) {
				t.Errorf("%s: the cluster %s is not in %s", r.Alert, want, text)
			}
			link := expand(t, r.Annotations["dashboard_url"], values, map[string]string{"cluster": "outer"})
			if !strings.Contains(link, "var-cluster="+want) {
				t.Errorf("%s: the cluster %s is not in %s", r.Alert, want, link)
			}
		}
	}
}

// expand expands an annotation as Prometheus does. It checks that each query in the annotation matches the exact values
// of the alert's labels.
func expand(t *testing.T, text string, values, external map[string]string) string {
	t.Helper()
	query := func(_ context.Context, q string, _ time.Time) (promql.Vector, error) {
		expr, err := ParseExpr(q)
		if err != nil {
			t.Errorf("a label makes the query invalid: %s: %v", q, err)
			return nil, nil
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.VectorSelector:
				for _, m := range n.LabelMatchers {
					if value, ok := values[m.Name]; ok && (m.Value != value || m.Type != labels.MatchEqual) {
						t.Errorf("the query %s selects another %s", q, m.Name)
					}
				}
			case *parser.BinaryExpr:
				if n.Op == parser.LOR && n.RHS.String() == "vector(1)" { // this operand contains the hostile label
					t.Errorf("a label became part of the query %s", q)
				}
			}
			return nil
		})
		return promql.Vector{{F: 1, Metric: labels.EmptyLabels()}}, nil
	}
	data := template.AlertTemplateData(values, external, "", promql.Sample{F: 1})
	const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$value := .Value}}"
	got, err := template.NewTemplateExpander(t.Context(), variables+text, "annotation", data, model.Now(), query, &url.URL{}, nil).Expand()
	if err != nil {
		t.Error(err)
	}
	return got
}

func checkHostileLink(t *testing.T, what, link, hostile string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" || query.Has("id") {
		t.Errorf("%s has the unexpected URL %s: %v", what, link, err)
	}
	for name, values := range query {
		if !slices.Equal(values, []string{hostile}) {
			t.Errorf("%s: unexpected value of %s: %q", what, name, values)
		}
	}
}
