package chart

import (
	"regexp"
	"strings"
	"testing"
)

// The manifests in deploy/ must equal the rendered chart, except for Helm's labels and annotations.
func TestDeployIsFresh(t *testing.T) {
	t.Parallel()
	for file, values := range map[string]string{
		"kubeflap.yaml":       "{namespaceOverride: kubeflap}",
		"servicemonitor.yaml": "{namespaceOverride: kubeflap, serviceMonitor: {enabled: true}}",
		"prometheusrule.yaml": "{namespaceOverride: kubeflap, prometheusRule: {enabled: true}}",
	} {
		text, err := template(values)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for document := range strings.SplitSeq(text, "\n---\n") {
			if operators.MatchString(document) == (file != "kubeflap.yaml") {
				kept = append(kept, strings.TrimSpace(helms.ReplaceAllString(strings.TrimPrefix(document, "---\n"), ""))+"\n")
			}
		}
		if file == "kubeflap.yaml" {
			kept = append([]string{"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: kubeflap\n"}, kept...)
		}
		checkFresh(t, root+"/deploy/"+file, "# Made from charts/kubeflap by make docs.\n"+strings.Join(kept, "---\n"))
	}
}

// operators matches objects of the Prometheus Operator.
var operators = regexp.MustCompile(`(?m)^apiVersion: monitoring\.coreos\.com/v1$`)

var helms = regexp.MustCompile(`(?m)^(# Source: .*| +helm\.sh/chart: .*| +app\.kubernetes\.io/managed-by: .*)\n`)
