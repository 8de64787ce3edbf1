package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// verdictRows returns the metrics of incidents.
func verdictRows() []row {
	standing := kind[ledger.Standing]{"incident", func(now *snapshot) []ledger.Standing { return now.standings.Incidents }, func(to *Scrape, x *ledger.Standing) {
		to.startObject(time.Time{}, x.ID)
	}}
	node := kind[ledger.Affected]{"node verdict", func(now *snapshot) []ledger.Affected { return now.standings.OfNodes }, func(to *Scrape, x *ledger.Affected) {
		to.startObject(time.Time{}, x.Name)
	}}
	service := kind[ledger.Affected]{"service verdict", func(now *snapshot) []ledger.Affected { return now.standings.OfServices }, func(to *Scrape, x *ledger.Affected) {
		to.startObject(time.Time{}, x.Namespace, x.Name)
	}}
	return []row{
		single(gauge("kubeflap_incidents", "Ongoing incidents by scope and verdict.", perVerdict, "scope", "verdict"), func(to *Scrape, now *snapshot) {
			ongoing := map[incident.Resolution]int{}
			for i := range now.standings.Incidents {
				if x := &now.standings.Incidents[i]; !x.State.IsFinal() {
					ongoing[x.Resolution]++
				}
			}
			for x := range possible {
				to.sample(float64(ongoing[x]), string(x.Scope), x.Verdict.String())
			}
		}),
		single(counter("kubeflap_incidents_total", "Resolved incidents by scope and last verdict. Excludes incidents that were merged into another incident, or withdrawn because a watch delivered events late. An incident whose verdict is revised afterwards counts again, with the new verdict.",
			perVerdict, "scope", "verdict"), func(to *Scrape, now *snapshot) {
			for x := range possible {
				to.sample(float64(now.standings.Resolved[x]), string(x.Scope), x.Verdict.String())
			}
		}),
		single(gauge("kubeflap_incident_nodes", "Nodes of ongoing incidents that turned Unknown or were silent for longer than the grace period, by scope and verdict of the incident. Kept for 3 minutes after the recovery of its nodes.",
			"per scope and verdict that an incident of nodes can have", "scope", "verdict"), func(to *Scrape, now *snapshot) {
			for x := range possible {
				to.sampleIf(x.Scope.HasNodes(), float64(now.standings.Nodes[x]), string(x.Scope), x.Verdict.String())
			}
		}),
		standing.row(gauge("kubeflap_incident_start_timestamp_seconds",
			"Unix time at which the incident started. For details, see kubeflap's page /flaps?id=ID. The subject label names the node, the workload or the Service.",
			"per incident, until 10 minutes after it was resolved", "id", "scope", "namespace", "subject", "verdict").experimental(),
			func(to *Scrape, x *ledger.Standing) {
				to.sample(seconds(x.Start), string(x.Scope), x.Namespace, x.Subject, x.Verdict.String())
			}),
		node.row(gauge("kubeflap_node_verdict", "1 while the node belongs to an incident with this verdict.",
			"per Node and verdict, until 10 minutes after the incident", "node", "verdict"),
			func(to *Scrape, x *ledger.Affected) { to.sample(1, x.Verdict.String()) }),
		service.row(gauge("kubeflap_service_verdict", "1 while the Service is affected by an incident with this verdict.",
			"per Service and verdict, until 10 minutes after the incident", "namespace", "service", "verdict"),
			func(to *Scrape, x *ledger.Affected) { to.sample(1, x.Verdict.String()) }),
	}
}

// verdictsOf lists the verdicts that incidents of each scope can have.
var verdictsOf = []struct {
	scope    incident.Scope
	verdicts []verdict.Verdict
}{
	{incident.ScopeControlPlane, []verdict.Verdict{verdict.SharedPath, verdict.ControllerManager, verdict.GracePeriod, verdict.NodeRebooted, verdict.Planned, verdict.Node, verdict.Undecided}},
	{incident.ScopeNode, []verdict.Verdict{verdict.Node, verdict.NodeRebooted, verdict.Planned, verdict.SharedPath, verdict.ControllerManager, verdict.Undecided}},
	{incident.ScopeWorkload, []verdict.Verdict{verdict.Workload, verdict.UpdateInPlace, verdict.Planned, verdict.Undecided}},
	{incident.ScopeService, []verdict.Verdict{verdict.EndpointsController, verdict.ForeignWriter, verdict.ServiceSpec, verdict.Undecided}},
}

// possible returns all pairs of a scope and a verdict that an incident can have.
func possible(yield func(incident.Resolution) bool) {
	for _, x := range verdictsOf {
		for _, v := range x.verdicts {
			if !yield(incident.Resolution{Scope: x.scope, Verdict: v}) {
				return
			}
		}
	}
}
