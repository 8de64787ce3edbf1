// Package advice holds the texts and remedies for causes and verdicts, and computes the recommended grace period. It
// keeps no state.
package advice

import "github.com/kubeflap/kubeflap/exporter/verdict"

// FewestToCompare is the minimum number of nodes that a cluster needs so that kubeflap can distinguish a fault of a
// node from a fault of the control plane.
const FewestToCompare = 3

// verdictTexts names the component to fix for each verdict, as in docs/incidents.md, and the first step, in at most
// eight words, so that the demo's table stays narrow.
var verdictTexts = [verdict.Count]struct{ toFix, firstStep string }{
	verdict.Undecided:           {"unknown", "run the command that the incident names"},
	verdict.Node:                {"the node or its kubelet", "find out what keeps the kubelet from reporting"},
	verdict.NodeRebooted:        {"the machine, which restarted", "find out why the machine restarted"},
	verdict.SharedPath:          {"something that several nodes share: etcd, an API server, a zone or a network", "check etcd, then what these nodes share"},
	verdict.ControllerManager:   {"the kube-controller-manager", "check load, watches and limits of the kube-controller-manager"},
	verdict.GracePeriod:         {"the setting --node-monitor-grace-period", "raise --node-monitor-grace-period"},
	verdict.Planned:             {"nothing: the removal or maintenance was planned", "nothing: the removal or maintenance was planned"},
	verdict.EndpointsController: {"the selector of a Service with manually managed Endpoints", "remove the selector of the Service"},
	verdict.ForeignWriter:       {"the client that writes the addresses", "find out who writes these addresses"},
	verdict.ServiceSpec:         {"the Service, which was changed", "compare the selector with the pods' labels"},
	verdict.UpdateInPlace:       {"the rollout, which changes images while the pods receive traffic", "set a readiness gate to False before updating"},
	verdict.Workload:            {"the pods of the workload", "check probes, exits and deletions of the pods"},
}

// FirstStep returns the first step for a verdict in a few words. The incident's remedy contains the details.
func FirstStep(v verdict.Verdict) string { return verdictTexts[v].firstStep }

// ToFix names the component to fix for a verdict.
func ToFix(v verdict.Verdict) string { return verdictTexts[v].toFix }
