package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
)

var update = flag.Bool("update", false, "write docs/causes.md")

const causesPath = "../docs/causes.md"

// causesHead is the beginning of docs/causes.md. In this text, two single quotes stand for a backtick.
var causesHead = strings.ReplaceAll(`# Causes

kubeflap assigns exactly one cause to each lost address. The cause describes what made the address unready. The [verdict](incidents.md#verdict) of the
incident names the component to fix.

| cause | meaning | first check |
| --- | --- | --- |
| ''node_heartbeat_lost'' | the node controller set the node to Unknown and its pods to not ready | the verdict of the node's incident: the fault may also be in etcd, the API server or the grace period |
| ''node_not_ready'' | the node's own kubelet reported the node as not ready | ''kubectl describe node NODE'': the message of the Ready condition |
| ''kubelet_restart'' | the kubelet restarted and set the pod to not ready (before v1.35) | ''journalctl -u kubelet'' on the node |
| ''probe_failed'' | a readiness probe failed while the container kept running | ''kubectl describe pod POD'': the probe's message, timeout and failureThreshold |
| ''container_exit'' | a container crashed, ran out of memory, or failed its liveness probe | ''kubectl logs POD --previous'', the exit code and the memory limit |
| ''inplace_update'' | somebody changed the image of a container in a running pod | the tool that updates the pod: does it set a readiness gate to False before the image changes? |
| ''readiness_gate'' | the condition of a readiness gate is not True | the controller that sets this condition, usually a load-balancer controller |
| ''pod_deleted'' | a rollout, a scale-down or a user deleted the pod | replicas and maxUnavailable: do new pods start before old pods stop? |
| ''pod_evicted'' | the pod was evicted, preempted, or shut down with its node | the PodDisruptionBudget, and whether the replicas run on several nodes |
| ''pod_completed'' | the pod's containers exited and will not be restarted | the Service's selector: does it select pods of a Job? |
| ''endpoints_reset'' | the endpoints controller removed the manually managed addresses of a Service with a selector | the Service's selector, which matches no pod: remove it |
| ''manual_write'' | somebody edited or cleared the Endpoints or EndpointSlices | ''managedFields'' of these objects, and the audit log |
| ''service_changed'' | the Service's selector or publishNotReadyAddresses changed | the selector and the labels of the pods |
| ''unknown'' | the evidence does not show the cause | ''kubectl get events -n NAMESPACE'' |

The comments in [rules.go](../exporter/track/pods/rules.go) explain the rules by which kubeflap determines why a pod became not ready. They also name
the Kubernetes function that each rule relies on.

## Faults in the lab

Each row shows a fault that the [lab](../lab/README.md) injected into a real control plane, and the cause that kubeflap reported. The table omits
scenarios without an expected cause, and scenarios that only ''make lab-verdicts'' runs. A run of the lab generates this page (''make lab-docs''). A
test fails when the page is out of date.

| what happens | cause that kubeflap reports | scenario |
| --- | --- | --- |
`, "''", "`")

// causeRows returns the rows of docs/causes.md for a scenario: the incident that kubeflap reported, and a row for each
// Service.
func causeRows(s scenario.Scenario, session *session.Session) string {
	var rows strings.Builder
	if session.ReportedIncident != "" && s.Causes == nil {
		fmt.Fprintf(&rows, "| %s | `%s` | `%s` |\n", s.Summary, session.ReportedIncident, s.Name)
	}
	for _, loss := range s.Causes {
		cause := "none: no address is lost"
		if causes := session.ReportedCauses[loss.Service]; causes != "" {
			cause = "`" + causes + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s | `%s` |\n", loss.What, cause, s.Name)
	}
	return rows.String()
}

// expectCausesPage compares docs/causes.md with this run, if all scenarios without the Extra flag ran.
func (r *results) expectCausesPage(t *testing.T) {
	t.Helper()
	page := causesHead
	for _, s := range scenario.All(cluster.Newest) {
		if s.Extra {
			continue
		}
		rows, ok := r.causes[nameOf(s)]
		if !ok {
			t.Logf("%s did not run, so %s is not checked", nameOf(s), causesPath)
			return
		}
		page += rows
	}
	if *update {
		if err := os.WriteFile(causesPath, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(causesPath); err != nil || string(was) != page {
		t.Errorf("%s is out of date (%v): run make lab-docs. Its content should be:\n%s", causesPath, err, page)
	}
}

// The texts of docs/causes.md must be those of the code. This test does not need a run.
func TestTextsOfTheCausesPage(t *testing.T) {
	page, err := os.ReadFile(causesPath)
	if err != nil {
		t.Fatal(err)
	}
	rows, ok := strings.CutPrefix(string(page), causesHead)
	if !ok {
		t.Fatalf("%s does not begin with:\n%s", causesPath, causesHead)
	}
	texts := map[string]bool{}
	for _, s := range scenario.All(cluster.Newest) {
		texts[s.Summary+" "+s.Name] = true
		for _, loss := range s.Causes {
			texts[loss.What+" "+s.Name] = true
		}
	}
	for row := range strings.Lines(rows) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		if name := strings.Trim(cells[len(cells)-1], "`"); !texts[cells[0]+" "+name] {
			t.Errorf("no scenario has the text of the row %s", row)
		}
	}
}

// With -verdicts, a run must not check docs/causes.md, because none of its scenarios are on that page.
func TestScenariosOfVerdictsAreNotOnTheCausesPage(t *testing.T) {
	was := *verdicts
	*verdicts = true
	t.Cleanup(func() { *verdicts = was })
	r := results{causes: map[string]string{}}
	for _, s := range slices.DeleteFunc(scenario.All(cluster.Newest), leftOut) {
		r.causes[nameOf(s)] = "| " + s.Summary + " | | |\n"
	}
	r.expectCausesPage(t)
}
