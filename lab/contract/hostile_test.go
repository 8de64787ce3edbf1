package contract

import (
	"context"
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

// A label may hold anything if it comes from a stranger's recording: it is no part of a template, of a query or of another parameter of a link.
func TestHostileLabelsInAnnotations(t *testing.T) {
	const hostile = "a\"'}) or vector(1)#{{ query `up` }}&node=other&id=1#<script>\\\n%0a é"
	for _, r := range alerts(t) {
		values := map[string]string{"severity": r.Rule.Labels["severity"]}
		for _, l := range r.Labels {
			values[l] = hostile
		}
		for name, text := range r.Annotations {
			got := expand(t, text, values)
			if strings.HasSuffix(name, "_url") {
				checkHostileLink(t, r.Alert+", "+name, got, hostile)
			}
		}
	}
}

// expand writes an annotation as Prometheus does. Each query that it makes must be one that matches the labels as they are.
func expand(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	query := func(_ context.Context, q string, _ time.Time) (promql.Vector, error) {
		expr, err := ParseExpr(q)
		if err != nil {
			t.Errorf("a label breaks the query %s: %v", q, err)
			return nil, nil
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.VectorSelector:
				for _, m := range n.LabelMatchers {
					if value, ok := values[m.Name]; ok && (m.Value != value || m.Type != labels.MatchEqual) {
						t.Errorf("the query %s asks for another %s", q, m.Name)
					}
				}
			case *parser.BinaryExpr:
				if n.Op == parser.LOR && n.RHS.String() == "vector(1)" { // as the label has it
					t.Errorf("a label is part of the query %s", q)
				}
			}
			return nil
		})
		return promql.Vector{{F: 1, Metric: labels.EmptyLabels()}}, nil
	}
	data := template.AlertTemplateData(values, nil, "", promql.Sample{F: 1})
	const variables = "{{$labels := .Labels}}{{$value := .Value}}"
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
		t.Errorf("%s leads to %s, %v", what, link, err)
	}
	for name, values := range query {
		if name != "cause" && !slices.Equal(values, []string{hostile}) {
			t.Errorf("%s: %s is %q", what, name, values)
		}
	}
}
