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

// inSubstance lists phrases by cause. Both the alerts and the incidents must contain them.
var inSubstance = map[string][]string{
	"node_heartbeat_lost": {"what keeps", "heck load, disk, and garbage collection of containers and images", "etcd", "the grace period as it is"},
	"node_not_ready":      {"shows the message of the Ready condition (container runtime, network plug-in, disk)", "The grace period is not at fault."},
	"kubelet_restart":     {"Before v1.35, pods are not Ready while their kubelet restarts, so restart kubelets one node at a time."},
	"probe_failed":        {"(kubectl describe pod) and whether its timeout is long enough and its failureThreshold high enough. A probe that depends on a shared component takes all pods out of rotation at once."},
	"container_exit":      {"heck kubectl logs --previous, the exit code, the memory limit (OOMKilled) and the liveness probe."},
	"inplace_update":      {"ake addresses out of rotation first. Set a readiness gate to False before the image changes, and back to True when the new container is ready."},
	"readiness_gate":      {"heck the controller that sets", "usually a load-balancer controller, and find out what it is waiting for."},
	"pod_deleted":         {"was not scaled to zero on purpose, make sure that new pods start before old ones stop. Use at least 2 replicas, maxUnavailable 0, and a preStop sleep of a few seconds."},
	"pod_evicted":         {"a PodDisruptionBudget and replicas on several nodes, so that a drain, a taint or pressure on one node does not evict all of them."},
	"pod_completed":       {"use a Deployment for servers, and do not let a Service select the pods of a Job."},
	"endpoints_reset":     {"emove the selector of", "rite the Endpoints again. The grace period and the API rate limits are not at fault."},
	"manual_write":        {"ind out who", "he audit log and the managedFields of its Endpoints and EndpointSlices name the writer. Let one writer replace the addresses in a single update, without clearing them first."},
	"service_changed":     {"ompare", "with the labels of the pods, check publishNotReadyAddresses, and find out who changed the Service last."},
	"unknown":             {"he evidence does not show the cause", "(kubectl get events -n ", "report the problem to the kubeflap project, with a recording."},
}

// closedSet returns the names of all causes, sorted.
func closedSet() (all []string) {
	for _, c := range cause.All() {
		all = append(all, c.String())
	}
	slices.Sort(all)
	return all
}

// All alerts with the label cause must contain the same remedies, one for each cause. The remedies must agree with
// those of kubeflap's incidents.
func TestRemedies(t *testing.T) {
	causes := closedSet()
	page := unwrap(regexp.MustCompile(`" ?\+\s*"`).ReplaceAllString(readFile(t, "exporter/advice/causes.go")+readFile(t, "exporter/advice/remedy.go")+readFile(t, "exporter/advice/lost.go"), ""))
	text := ""
	for _, r := range alerts(t) {
		_, remedy, ok := strings.Cut(r.Annotations["description"], "Cause: {{ $labels.cause }}")
		if ok != slices.Contains(r.Labels, "cause") {
			t.Errorf("%s: has the label cause: %t; has a remedy per cause: %t", r.Alert, !ok, ok)
		}
		switch {
		case !ok:
		case text == "":
			text = remedy
		case remedy != text:
			t.Errorf("%s: the remedies per cause differ from those of the other alerts", r.Alert)
		}
	}
	branches := remediesOf(text)
	var named []string
	for cause := range branches {
		named = append(named, cause)
	}
	slices.Sort(named)
	if !slices.Equal(named, causes) {
		t.Errorf("got remedies for %v, want the causes %v", named, causes)
	}
	for _, cause := range causes {
		if len(inSubstance[cause]) == 0 {
			t.Errorf("inSubstance has no phrases for %s", cause)
		}
		for _, part := range inSubstance[cause] {
			if !strings.Contains(branches[cause], part) {
				t.Errorf("%s: the alerts do not contain %q: %s", cause, part, branches[cause])
			}
			if !strings.Contains(page, part) {
				t.Errorf("%s: exporter/advice does not contain %q", cause, part)
			}
		}
	}
}

// docs/causes.md must explain every cause.
func TestCausesPageExplainsEveryCause(t *testing.T) {
	page := readFile(t, "docs/causes.md")
	for _, cause := range closedSet() {
		if !strings.Contains(page, "\n| `"+cause+"` | ") {
			t.Errorf("docs/causes.md does not explain %s", cause)
		}
	}
}

// remediesOf returns the remedies by cause. It reads them from the if and else branches of an annotation template.
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
