package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

type verdictMetrics struct{ ongoing, resolved, start, end, node, silences, lastSilence, service *Metric }

func newVerdictMetrics() *verdictMetrics {
	return &verdictMetrics{
		ongoing: gauge("kubeflap_incidents", "Ongoing incidents by scope and verdict.", perVerdict, "scope", "verdict"),
		resolved: counter("kubeflap_incidents_total", "Resolved incidents by scope and last verdict. Excludes incidents that were merged into another incident, or withdrawn because a watch delivered events late.",
			perVerdict, "scope", "verdict"),
		start: gauge("kubeflap_incident_start_timestamp_seconds",
			"Unix time at which the incident started. For details, see kubeflap's page /flaps?id=ID. The subject label names the node, the workload or the Service.",
			"one per incident that is ongoing or was resolved in the last 10 minutes", "id", "scope", "namespace", "subject", "cause", "verdict").experimental(),
		end: gauge("kubeflap_incident_end_timestamp_seconds", "Unix time at which everything affected by the incident had recovered. If something flaps again, the same incident continues.",
			"one per incident in which everything has recovered, until 10 minutes after the recovery", "id").experimental(),
		node: gauge("kubeflap_node_verdict", "1 while the node belongs to an incident with this verdict.",
			"one per Node and verdict, for incidents that are ongoing or were resolved in the last 10 minutes", "node", "verdict"),
		silences: gauge("kubeflap_node_silences",
			"Silences of the node since kubeflap first saw it, by verdict and reason. A silence is a heartbeat interval of more than half the grace period, or a change to Unknown by the node controller. This is a gauge, because verdicts may be revised.",
			"for each Node, one for the verdict `node` with the reason `slow`. Every other combination of verdict and reason has a series after its first occurrence", "node", "verdict", "reason").experimental(),
		lastSilence: gauge("kubeflap_node_last_silence_timestamp_seconds",
			"Unix time at which the latest silence with this verdict and reason ended, or the current time during a silence.", "one per Node, verdict and reason, after the first occurrence", "node", "verdict", "reason").experimental(),
		service: gauge("kubeflap_service_verdict", "1 while the Service is affected by an incident with this verdict.",
			"one per Service and verdict, for incidents that are ongoing or were resolved in the last 10 minutes", "namespace", "service", "verdict"),
	}
}

func (m *verdictMetrics) catalogue() Catalogue {
	return Catalogue{m.ongoing, m.resolved, m.start, m.end, m.node, m.silences, m.lastSilence, m.service}
}

// possible is the list of verdicts that incidents of each scope can have.
var possible = []struct {
	scope    incident.Scope
	verdicts []verdict.Verdict
}{
	{incident.ScopeControlPlane, []verdict.Verdict{verdict.SharedPath, verdict.ControllerManager, verdict.GracePeriod, verdict.NodeRebooted, verdict.Planned, verdict.Node, verdict.Undecided}},
	{incident.ScopeNode, []verdict.Verdict{verdict.Node, verdict.NodeRebooted, verdict.Planned, verdict.SharedPath, verdict.ControllerManager, verdict.Undecided}},
	{incident.ScopeWorkload, []verdict.Verdict{verdict.Workload, verdict.UpdateInPlace, verdict.Planned, verdict.Undecided}},
	{incident.ScopeService, []verdict.Verdict{verdict.EndpointsController, verdict.ForeignWriter, verdict.ServiceSpec, verdict.Undecided}},
}

func (m *verdictMetrics) collect(to *scrape, now *snapshot) {
	to.startObject(time.Time{})
	ongoing := map[incident.Resolution]int{}
	for _, x := range now.standings {
		if x.State != incident.StateEnded {
			ongoing[incident.Resolution{Scope: x.Scope, Verdict: x.Verdict}]++
		}
	}
	for _, pairs := range possible {
		for _, v := range pairs.verdicts {
			pair := incident.Resolution{Scope: pairs.scope, Verdict: v}
			to.sample(m.ongoing, float64(ongoing[pair]), string(pairs.scope), v.String())
			to.sample(m.resolved, float64(now.resolved[pair]), string(pairs.scope), v.String())
		}
	}
	for i := range now.standings {
		x := &now.standings[i]
		to.startObject(time.Time{}, "id", x.ID)
		to.sample(m.start, seconds(x.Start), string(x.Scope), x.Namespace, x.Subject, x.Cause.String(), x.Verdict.String())
		if !x.End.IsZero() {
			to.sample(m.end, seconds(x.End))
		}
	}
	for _, x := range nodeVerdicts(now.standings) {
		to.startObject(time.Time{}, "node", x.node)
		to.sample(m.node, 1, x.verdict.String())
	}
	m.collectSilences(to, now)
	for _, x := range serviceVerdicts(now.standings) {
		to.startObject(time.Time{}, "namespace", x.service.Namespace, "service", x.service.Name)
		to.sample(m.service, 1, x.verdict.String())
	}
}

// collectSilences adds the silences of existing nodes. The lists of silences and of nodes are both sorted by node name.
func (m *verdictMetrics) collectSilences(to *scrape, now *snapshot) {
	all := now.silences
	for i := range now.nodes {
		name := now.nodes[i].Name
		for len(all) > 0 && all[0].Node < name {
			all = all[1:]
		}
		to.startObject(now.nodes[i].Created, "node", name)
		slow := false
		for ; len(all) > 0 && all[0].Node == name; all = all[1:] {
			x := &all[0]
			slow = slow || x.Verdict == verdict.Node && x.Reason == verdict.Slow
			to.sample(m.silences, float64(x.Count), x.Verdict.String(), x.Reason.String())
			to.sample(m.lastSilence, seconds(x.Last), x.Verdict.String(), x.Reason.String())
		}
		if !slow {
			to.sample(m.silences, 0, verdict.Node.String(), verdict.Slow.String())
		}
	}
}

type nodeVerdict struct {
	node    string
	verdict verdict.Verdict
}

type serviceVerdict struct {
	service transition.Service
	verdict verdict.Verdict
}

// nodeVerdicts returns the distinct verdicts of each node, sorted by node and verdict.
func nodeVerdicts(standings []incident.Incident) (all []nodeVerdict) {
	for _, x := range standings {
		if x.Scope != incident.ScopeNode && x.Scope != incident.ScopeControlPlane {
			continue
		}
		for _, node := range x.Nodes {
			all = append(all, nodeVerdict{node, x.Verdict})
		}
	}
	slices.SortFunc(all, func(a, b nodeVerdict) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.verdict, b.verdict))
	})
	return slices.Compact(all)
}

// serviceVerdicts returns the distinct verdicts of each Service, sorted by Service and verdict.
func serviceVerdicts(standings []incident.Incident) (all []serviceVerdict) {
	for _, x := range standings {
		for _, service := range x.Services {
			all = append(all, serviceVerdict{transition.Service{Namespace: service.Namespace, Name: service.Name}, x.Verdict})
		}
	}
	slices.SortFunc(all, func(a, b serviceVerdict) int {
		return cmp.Or(cmp.Compare(a.service.Namespace, b.service.Namespace), cmp.Compare(a.service.Name, b.service.Name), cmp.Compare(a.verdict, b.verdict))
	})
	return slices.Compact(all)
}
