package chart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
)

// The file testdata/values.diff shows, for each of these values, how they change the objects and the notes of a release
// without values. Values for rules are compared with a release that only has the default rules. The values are names of
// files in ci/, or YAML. Dashboards have their own tests.
const changing = `
persistence-values.yaml
openshift-values.yaml
gke-autopilot-values.yaml
airgapped-values.yaml
{data: {enabled: false}}
{replicas: 1, persistence: {enabled: true, existingClaim: ours, fsGroup: 0}}
{persistence: {enabled: true, fsGroup: null}}
{persistence: {enabled: true}, podSecurityContext: {fsGroup: 2000}}
{image: {registry: '', repository: r.x/k, tag: t}}
{global: {imageRegistry: 'r.x:5000', imagePullSecrets: [{name: a}]}, image: {registry: s.x, tag: t, digest: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}
{commonAnnotations: {a: common, b: common}, podAnnotations: {c: pod}, serviceAccount: {annotations: {a: own}}, monitor: {enabled: true}}
{resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}}
{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}, {maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: []}]}
{hostNetwork: true}
{hostNetwork: true, updateStrategy: {type: Recreate}}
{replicas: 1}
{podDisruptionBudget: {maxUnavailable: 50%}}
{podDisruptionBudget: {enabled: false}}
{networkPolicy: {enabled: true}}
{ingress: {enabled: true, hosts: [{host: a.x}, {host: b.x, paths: [{path: /flaps, pathType: Exact}]}]}}
{service: {port: 80}, httpRoute: {enabled: true, parentRefs: [{group: "", kind: Service, name: web}, {name: g}]}}
{webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}, basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}}}, monitor: {enabled: true}}
{webConfig: {existingSecret: s, tls: true}, monitor: {enabled: true, endpoint: {tlsConfig: {insecureSkipVerify: true}}}}
{monitor: {enabled: true, kind: PodMonitor, namespace: m, honorLabels: false, relabelings: [{targetLabel: cluster, replacement: c}]}}
{monitor: {enabled: true, endpoint: {interval: 10s, honorTimestamps: false, honorLabels: false}, spec: {sampleLimit: 10000000}}}
{rbac: {create: false}}
{namespaceOverride: there, fullnameOverride: flaps, serviceAccount: {name: ours}}
{namespaceOverride: there, fullnameOverride: flaps, serviceAccount: {name: ours}, scope: {namespace: shop}}
{scope: {namespace: shop}}
{scope: {namespace: shop, nodes: true}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {for: 9m, keepFiringFor: 1h, severity: page, labels: {team: a}, annotations: {summary: S}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {enabled: false}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {for: 7m, critical: {for: 8m}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {enabled: false, critical: {enabled: true}}}}}
{prometheusRule: {enabled: true}, thresholds: {serviceDownSeconds: 120, gracePeriodRatio: 0.9}}
{prometheusRule: {enabled: true, additionalRuleLabels: {team: a}, alerts: {KubeflapBlind: {labels: {team: b}}}}}
`

func TestChangesByValuesAreFresh(t *testing.T) {
	t.Parallel()
	without, rules := renderedObjects(t, "{}"), renderedObjects(t, "{prometheusRule: {enabled: true}}")
	var b strings.Builder
	b.WriteString("# Made by make docs. Each section shows how values change the rendered objects and the notes.\n")
	for line := range strings.Lines(strings.TrimSpace(changing)) {
		input := strings.TrimSpace(line)
		fmt.Fprintf(&b, "\n### %s\n", input)
		before := without
		switch {
		case strings.HasPrefix(input, "{prometheusRule:"):
			before = rules
		case strings.HasSuffix(input, ".yaml"):
			input = values(t, source+"/ci/"+input)
		}
		text := try(difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: renderedObjects(t, input), Context: 1}))(t)
		b.WriteString(regexp.MustCompile(`(?m)^@@ .* @@$`).ReplaceAllString(text, "@@"))
	}
	checkFresh(t, "testdata/values.diff", b.String())
}

// dull matches empty lines, comments, and labels that all objects have.
var dull = regexp.MustCompile(`^\s*(#.*|helm\.sh/chart: .*|app\.kubernetes\.io/(managed-by|version): .*)?\n?$`)

var ruleName = regexp.MustCompile(`^ +- (?:alert|record): (.*)\n`)

// renderedObjects returns the lines of all objects and of the notes, without the dashboards. Each line begins with the
// path of its object's template, or with the name of its rule, so that a difference names the object. It also decodes
// all objects. Unless the values are only about rules, it leaves out the rules.
func renderedObjects(t *testing.T, input string) (lines []string) {
	t.Helper()
	render(t, input)
	text := try(template(input))(t)
	for document := range strings.SplitSeq(text+"---\n# Source: kubeflap/templates/NOTES.txt\n"+notes(t, input), "---\n# Source: kubeflap/templates/") {
		name, content, _ := strings.Cut(document, "\n")
		if name == "prometheusrule.yaml" && !strings.HasPrefix(input, "{prometheusRule:") || name == "dashboards.yaml" {
			continue
		}
		for line := range strings.Lines(content) {
			if rule := ruleName.FindStringSubmatch(line); rule != nil {
				name = rule[1]
			}
			if !dull.MatchString(line) {
				lines = append(lines, name+": "+line)
			}
		}
	}
	return lines
}

// By default, the container requests what docs/performance.md recommends for 1,000 nodes, and has no limits.
func TestResources(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`(?m)^\| 1,000 nodes, [^|]*\| (\d+) MiB \|[^|]*\| (\d+m) \|$`).FindStringSubmatch(values(t, root+"/docs/performance.md"))
	if row == nil {
		t.Fatal("docs/performance.md has no row for 1,000 nodes")
	}
	r := pod(t, render(t, "{}")).Containers[0].Resources
	if r.Requests.Memory().String() != row[1]+"Mi" || r.Requests.Cpu().String() != row[2] || len(r.Limits) > 0 {
		t.Errorf("unexpected resources %+v", r)
	}
}
