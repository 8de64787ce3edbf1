package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// inSubstance is what both the alerts and the incidents say of each cause.
var inSubstance = map[string][]string{
	"node_heartbeat_lost": {"what keeps", "load, disk, many containers and images to collect", "etcd", "the grace period as it is"},
	"node_not_ready":      {"has its message under Ready (container runtime, network plug-in, disk)", "The grace period plays no part."},
	"kubelet_restart":     {"From v1.35 on a restart leaves pods Ready; before that, restart kubelets one node at a time."},
	"probe_failed":        {"(kubectl describe pod) and whether its timeout and failureThreshold fit; a probe that depends on something shared takes all pods out at once."},
	"container_exit":      {"kubectl logs --previous, the exit code, OOMKilled against the memory limit, the liveness probe."},
	"inplace_update":      {"ake an address out first", "a readiness gate turned off before the image changes, and on again when the new container serves."},
	"readiness_gate":      {"ook at the controller that sets", "a load-balancer controller as a rule: it says what it waits for."},
	"pod_deleted":         {"was not scaled to zero on purpose, make its roll-out overlap: maxUnavailable 0 with at least 2 replicas, and a preStop pause of some seconds."},
	"pod_evicted":         {"a PodDisruptionBudget and replicas on several nodes, so that a drain, a taint or pressure on one node does not take all of them."},
	"pod_completed":       {"something that serves wants a Deployment, and a Service should not choose the pods of a Job."},
	"endpoints_reset":     {"emove the selector of", "rite the Endpoints once more. Grace period and API rates play no part."},
	"manual_write":        {"ind out who", "the audit log and the managedFields of its Endpoints and EndpointSlices name them. Let one writer replace them in one update instead of emptying them first."},
	"service_changed":     {"ompare", "selector and publishNotReadyAddresses", "with the labels of its pods, and with who changed it last."},
	"unknown":             {"he evidence does not show the cause.", "(kubectl get events -n ", "report a recording of it to kubeflap."},
}

// closedSet are the causes, without their order.
func closedSet() (all []string) {
	for _, c := range cause.All() {
		all = append(all, c.String())
	}
	slices.Sort(all)
	return all
}

// One text for all alerts that have a cause, for the whole closed set, and it says what the page says.
func TestRemedies(t *testing.T) {
	causes := closedSet()
	page := unwrap(regexp.MustCompile(`" ?\+\s*"`).ReplaceAllString(readFile(t, "exporter/advice/causes.go")+readFile(t, "exporter/advice/remedy.go")+readFile(t, "exporter/advice/lost.go"), ""))
	text := ""
	for _, r := range alerts(t) {
		_, remedy, ok := strings.Cut(r.Annotations["description"], "Cause: {{ $labels.cause }}")
		if ok != slices.Contains(r.Labels, "cause") {
			t.Errorf("%s: it has the label cause: %t, and a remedy by it: %t", r.Alert, !ok, ok)
		}
		switch {
		case !ok:
		case text == "":
			text = remedy
		case remedy != text:
			t.Errorf("%s: its remedies by cause differ from those of the others", r.Alert)
		}
	}
	branches := remediesOf(text)
	var named []string
	for cause := range branches {
		named = append(named, cause)
	}
	slices.Sort(named)
	if !slices.Equal(named, causes) {
		t.Errorf("remedies for %v, causes are %v", named, causes)
	}
	for _, cause := range causes {
		if len(inSubstance[cause]) == 0 {
			t.Errorf("what is to be said of %s is not in the table", cause)
		}
		for _, part := range inSubstance[cause] {
			if !strings.Contains(branches[cause], part) {
				t.Errorf("%s: the alerts do not say %q: %s", cause, part, branches[cause])
			}
			if !strings.Contains(page, part) {
				t.Errorf("%s: exporter/advice does not say %q", cause, part)
			}
		}
	}
}

// remediesOf takes the chain of if and else apart.
func remediesOf(text string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`{{- (?:else )?if eq \$labels\.cause "(\w+)" -}}([^{]*)`).FindAllStringSubmatch(text, -1) {
		all[m[1]] = unwrap(m[2])
	}
	if _, other, ok := strings.Cut(text, "{{- else -}}"); ok {
		all["unknown"] = unwrap(strings.TrimSuffix(strings.TrimSpace(other), "{{- end }}"))
	}
	return all
}

func unwrap(s string) string { return strings.Join(strings.Fields(s), " ") }

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
