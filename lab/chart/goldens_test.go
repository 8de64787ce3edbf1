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
everything-values.yaml
persistence-values.yaml
scrapeconfig-values.yaml
{data: {size: 1GiB, sizeLimit: ''}}
{data: {enabled: false}}
{replicas: 1, hostNetwork: true, persistence: {enabled: true, existingClaim: ours}, podSecurityContext: {runAsUser: null, runAsGroup: null}}
{global: {imageRegistry: 'r.x:5000'}, image: {registry: s.x, tag: t}}
{image: {registry: '', repository: r.x/k, tag: t}}
{image: {registry: r.x, repository: k, tag: t, digest: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}
{image: {registry: 'r.x:5000/mirror', repository: k, tag: t}}
{global: {imagePullSecrets: [a, {name: b}]}, imagePullSecrets: [b, c]}
{commonAnnotations: {a: common, b: common}, podAnnotations: {c: pod}, serviceAccount: {annotations: {a: own}}, serviceMonitor: {enabled: true}}
{resources: {requests: {memory: 1Gi}}}
{resources: {limits: {memory: 1Gi}}}
{resources: {requests: null}}
{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}
{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: []}]}
{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}]}
{hostUsers: false}
{hostNetwork: true}
{hostNetwork: true, updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}
{hostNetwork: true, updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}
{hostNetwork: true, updateStrategy: {type: Recreate}}
{replicas: 1}
{replicas: 3, podDisruptionBudget: {minAvailable: 60%}}
{podDisruptionBudget: {maxUnavailable: 50%}}
{podDisruptionBudget: {minAvailable: 1}}
{podDisruptionBudget: {enabled: false}}
{networkPolicy: {enabled: true}}
{verticalPodAutoscaler: {enabled: true}}
{ingress: {enabled: true, hosts: [{host: a.x}, {host: b.x, paths: [{path: /flaps, pathType: Exact}]}]}}
{service: {port: 80}, httpRoute: {enabled: true, parentRefs: [{name: g}]}}
{httpRoute: {enabled: true, parentRefs: [{name: g}], rules: [{backendRefs: [{name: login, port: 1}]}]}}
{probePort: 7, webConfig: {content: {http_server_config: {http2: false}}}}
{probePort: 7, webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}}}, serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}
{probePort: 7, webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k, client_auth_type: RequireAndVerifyClientCert, client_ca_file: /a}}}}
{probePort: 7, webConfig: {content: {basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}}}, serviceMonitor: {enabled: true}}
{probePort: 7, webConfig: {existingSecret: s}, serviceMonitor: {enabled: true}}
{probePort: 7, webConfig: {existingSecret: s, tls: true}, serviceMonitor: {enabled: true}, podMonitor: {enabled: true}, scrapeConfig: {enabled: true}}
{serviceMonitor: {enabled: true, namespace: m}}
{serviceMonitor: {enabled: true, targetLabels: [team], scrapeClass: mtls, bodySizeLimit: 20MB, podTargetLabels: [tier], endpoint: {proxyUrl: http://p.x, tlsConfig: {insecureSkipVerify: true}, interval: 10s, honorTimestamps: false}, spec: {sampleLimit: 10000000, scrapeProtocols: [PrometheusProto]}}}
{podMonitor: {enabled: true, scrapeClass: mtls, bodySizeLimit: 20MB, podTargetLabels: [tier], endpoint: {proxyUrl: http://p.x, tlsConfig: {insecureSkipVerify: true}, interval: 10s, honorTimestamps: false}, spec: {sampleLimit: 10000000, scrapeProtocols: [PrometheusProto]}}}
{scrapeConfig: {enabled: true, scrapeClass: mtls, bodySizeLimit: 20MB, spec: {sampleLimit: 10000000, scrapeProtocols: [PrometheusProto], scrapeInterval: 10s, proxyUrl: http://p.x}}}
{nameOverride: flaps, namespaceOverride: flaps-ns, scrapeConfig: {enabled: true, namespace: m, relabelings: [{targetLabel: cluster, replacement: c}]}}
{serviceMonitor: {enabled: true}, podMonitor: {honorLabels: false}}
{serviceMonitor: {enabled: true, honorLabels: false}}
{podMonitor: {enabled: true, honorLabels: false}}
{podMonitor: {enabled: true, endpoint: {honorLabels: false}}}
{scrapeConfig: {enabled: true, honorLabels: false}}
{scrapeConfig: {enabled: true, spec: {honorLabels: false}}}
{serviceMonitor: {enabled: true, endpoint: {basicAuth: {username: {name: s, key: u}}}}, webConfig: {content: {basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}}}}
{serviceMonitor: {enabled: true}, webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}, basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}}}}
{serviceMonitor: {enabled: true, endpoint: {tlsConfig: {insecureSkipVerify: true}}}, webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}}}}
{serviceMonitor: {enabled: true, scrapeClass: mtls}, webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}}}}
{serviceMonitor: {enabled: true, endpoint: {basicAuth: {username: {name: s, key: u}}}}, webConfig: {existingSecret: s}}
{serviceMonitor: {enabled: true, endpoint: {basicAuth: {username: {name: s, key: u}}}}, webConfig: {existingSecret: s, tls: true}}
{rbac: {controlPlaneLeases: false}}
{rbac: {workloads: false}}
{rbac: {create: false}}
{rbac: {create: false}, scope: {namespace: shop}}
{scope: {namespace: shop}}
{scope: {namespace: shop, nodes: true}}
{scope: {namespace: kube-system}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {for: 9m}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {keepFiringFor: 1h}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {severity: page}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {labels: {team: a}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {annotations: {summary: S}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapBlind: {enabled: false}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {warning: {enabled: false}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {for: 7m}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {for: 7m, critical: {for: 8m}}}}}
{prometheusRule: {enabled: true, alerts: {KubeflapNodeLost: {enabled: false, critical: {enabled: true}}}}}
{prometheusRule: {enabled: true}, thresholds: {serviceDownSeconds: 120, gracePeriodRatio: 0.9}}
{prometheusRule: {enabled: true, alertLabels: {team: a}, alerts: {KubeflapBlind: {labels: {team: b}}}}}
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
			input = values(t, chart+"/ci/"+input)
		}
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: renderedObjects(t, input), Context: 1})
		if err != nil {
			t.Fatal(err)
		}
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
	text, err := template(input)
	if err != nil {
		t.Fatal(err)
	}
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

// For Kubernetes before 1.27, the chart must not use matchLabelKeys.
func TestOldKubernetes(t *testing.T) {
	t.Parallel()
	old, err := helmTemplate(inputs{"kubeflap", "monitoring", "v1.26.0", "{}"})
	if err != nil || strings.Contains(old.objects, "matchLabelKeys") || !strings.Contains(old.objects, "topologySpreadConstraints") {
		t.Errorf("unexpected matchLabelKeys for Kubernetes 1.26, or an error: %v\n%s", err, old.objects)
	}
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
