package chart

import (
	"strings"
	"testing"
)

// TestRefused tests the chart's own error messages, and the patterns in its schema. It does not test types, ranges and
// enumerations, because the schema library checks them. TestSchemaIsClosed tests misspelled names.
func TestRefused(t *testing.T) {
	t.Parallel()
	const bothLogins = "basicAuth: {username: {name: a, key: b}}, authorization: {credentials: {name: a, key: b}}"
	for _, c := range []struct{ values, message string }{
		// Values that are set to null.
		{`replicas: null`, "missing property 'replicas'"},
		{`service: {port: null}`, "missing property 'port'"},

		// Contradictory values.
		{`service: {nodePort: 30969}`, "service.nodePort is set, but service.type is ClusterIP"},
		{`ingress: {enabled: true}`, "ingress.enabled is true without ingress.hosts"},
		{`httpRoute: {enabled: true}`, "httpRoute.enabled is true without httpRoute.parentRefs"},
		{`{hostNetwork: true, networkPolicy: {enabled: true}}`, "a NetworkPolicy does not apply to the host network"},
		{`networkPolicy: {enabled: true, egress: []}`, "at '/networkPolicy/egress': minItems: got 0, want 1"},
		{`probePort: 9969`, "containerPort and probePort are both 9969"},
		{`scope: {nodes: true}`, "scope.nodes is true without scope.namespace"},
		{`webConfig: {existingSecret: s, content: {http_server_config: {http2: false}}}`, "webConfig.content and webConfig.existingSecret are both set"},
		{`persistence: {enabled: true, existingClaim: ours}`, "persistence.existingClaim is set with 2 replicas: only one process can write to the volume"},
		{`{replicas: 1, persistence: {existingClaim: ours}}`, "persistence.existingClaim is set, but persistence.enabled is false"},
		{`persistence: {storageClass: "-"}`, "'/persistence/storageClass': '-' does not match pattern"},
		{`persistence: {size: 1K}`, "'/persistence/size': '1K' does not match pattern"},
		{`{replicas: 1, persistence: {enabled: true}, data: {enabled: false}}`, "persistence.enabled is true, but data.enabled is false"},
		{`{replicas: 1, persistence: {enabled: true, size: 1Gi}, data: {size: 1GiB}}`, "persistence.size is 1Gi and data.size is 1GiB"},
		{`data: {size: 64KiB}`, "'/data/size': '64KiB' does not match pattern"},
		{`resources: {limits: {ephemeral-storage: 10Mi}}`, "resources.limits.ephemeral-storage is 10Mi and data.size is 256MiB: the volume needs at least a quarter more"},
		{`{resources: {limits: {ephemeral-storage: 1G}}, data: {size: 1GiB}}`, "resources.limits.ephemeral-storage is 1G and data.size is 1GiB"},
		{`resources: {limits: {ephemeral-storage: 3e8}}`, "ephemeral-storage is 3e+08 and data.size is 256MiB"},
		{`data: {age: 0s}`, "'/data/age': '0s' does not match pattern"},
		{`data: {age: 1h2d}`, "'/data/age': '1h2d' does not match pattern"},
		{`extraArgs: [--web.enable-recordings]`, "kubeflap only serves recordings to authenticated clients"},
		{`{extraArgs: [--web.enable-recordings], webConfig: {content: {tls_server_config: {cert_file: /c, key_file: /k}}}}`, "kubeflap only serves recordings to authenticated clients"},
		{`{extraArgs: [--web.enable-recordings], webConfig: {existingSecret: w}, data: {enabled: false}}`, "--web.enable-recordings needs data.enabled"},
		{`{extraArgs: [--web.enable-recordings=true], webConfig: {existingSecret: w}}`, "--web.enable-recordings takes no value"},
		{`extraArgs: [--data.dir=/elsewhere]`, "extraArgs: --data.dir has its own value"},
		{`webConfig: {tls: true}`, "webConfig.tls is true, but neither webConfig.existingSecret nor webConfig.content.tls_server_config is set"},
		{`extraArgs: [--log.level=debug]`, "extraArgs: --log.level has its own value"},
		{`{scope: {namespace: shop}, extraArgs: [--namespace=pay]}`, "extraArgs: --namespace has its own value"},
		{`extraArgs: [--namespace=shop]`, "extraArgs: --namespace has its own value"},
		{`monitor: {interval: 61s}`, "'/monitor/interval': '61s' does not match pattern"},
		{`monitor: {enabled: true, endpoint: {` + bothLogins + `}}`, "monitor.endpoint sets both basicAuth and authorization, but Prometheus accepts only one"},
		{
			`prometheusRule: {enabled: true, alerts: {KubeflapBlind: {labels: {severity: page}}}}`,
			"prometheusRule.alerts.KubeflapBlind.labels.severity: set prometheusRule.alerts.KubeflapBlind.severity",
		},

		// The schema's patterns must refuse these values. The files in charts/kubeflap/ci contain values that the
		// patterns must accept.
		{`fullnameOverride: 2flaps`, "'/fullnameOverride': '2flaps' does not match pattern"},
		{`namespaceOverride: a/b`, "'/namespaceOverride': 'a/b' does not match pattern"},
		{`scope: {namespace: 'shop,web'}`, "'/scope/namespace': 'shop,web' does not match pattern"},
		{`global: {imageRegistry: "https://r.example.org"}`, "'/global/imageRegistry': 'https://r.example.org' does not match pattern"},
		{`image: {registry: "https://ghcr.io"}`, "'/image/registry': 'https://ghcr.io' does not match pattern"},
		{`image: {repository: "kubeflap/kubeflap:v1"}`, "'/image/repository': 'kubeflap/kubeflap:v1' does not match pattern"},
		{`image: {tag: "v1@sha256:0"}`, "'/image/tag': 'v1@sha256:0' does not match pattern"},
		{`image: {digest: 0123456789abcdef}`, "'/image/digest': '0123456789abcdef' does not match pattern"},
		{`extraArgs: [log.level=debug]`, "'/extraArgs/0': 'log.level=debug' does not match pattern"},
		{`priorityClassName: High`, "'/priorityClassName': 'High' does not match pattern"},
		{`webConfig: {content: {basic_auth_users: {prometheus: secret}}}`, "'/webConfig/content/basic_auth_users/prometheus': 'secret' does not match pattern"},
		{`ingress: {hosts: [{host: "https://flaps.example.org"}]}`, "'/ingress/hosts/0/host': 'https://flaps.example.org' does not match pattern"},
		{`ingress: {hosts: [{host: a.x, paths: [{path: flaps}]}]}`, "'/ingress/hosts/0/paths/0/path': 'flaps' does not match pattern"},
		{`podDisruptionBudget: {maxUnavailable: "0%"}`, "'/podDisruptionBudget/maxUnavailable': '0%' does not match pattern"},
		{`prometheusRule: {alerts: {KubeflapBlind: {for: 5 minutes}}}`, "'/prometheusRule/alerts/KubeflapBlind/for': '5 minutes' does not match pattern"},
		{`thresholds: {serviceDownSecond: 90}`, "at '/thresholds': additional properties 'serviceDownSecond' not allowed"},
		{`thresholds: {serviceDownSeconds: 90s}`, "at '/thresholds/serviceDownSeconds': got string, want number"},
		{`settings: {nodeMonitorGracePeriod: "40"}`, "'/settings/nodeMonitorGracePeriod': '40' does not match pattern"},
		{`settings: {knownManagers: ["a,b"]}`, "'/settings/knownManagers/0': 'a,b' does not match pattern"},
		{`links: {page: flaps.example.org}`, "'/links/page': 'flaps.example.org' does not match pattern"},
		{`links: {page: 'https://flaps.example.org/"'}`, `'/links/page': 'https://flaps.example.org/"' does not match pattern`},
		{`webConfig: {existingSecret: a/b}`, "'/webConfig/existingSecret': 'a/b' does not match pattern"},
		{`resources: {limits: {memory: 512 MB}}`, "'/resources/limits/memory': '512 MB' does not match pattern"},
	} {
		t.Run(c.values, func(t *testing.T) {
			t.Parallel()
			switch _, err := template(c.values); {
			case err == nil:
				t.Error("the chart accepts the values")
			case !strings.Contains(err.Error(), c.message):
				t.Errorf("the message is\n%v\nwant\n%s", err, c.message)
			}
		})
	}
}

// The volume is large enough, in each notation of Kubernetes.
func TestVolumeIsLargeEnough(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"1073741824", `"1073741824"`, "1e9", `"1e9"`, "0.5Gi", "400M", "400000k", "320Mi", "1Ti", "1P", "1Ei"} {
		if _, err := template("resources: {limits: {ephemeral-storage: " + size + "}}"); err != nil {
			t.Errorf("%s: %v", size, err)
		}
	}
}
