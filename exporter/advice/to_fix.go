// Package advice holds the texts and remedies for causes and verdicts, and computes the recommended grace period. It
// keeps no state.
package advice

import "github.com/kubeflap/kubeflap/exporter/verdict"

// FewestToCompare is the minimum number of nodes that a cluster needs so that kubeflap can distinguish a fault of a
// node from a fault of the control plane.
const FewestToCompare = 3

// toFix names the component to fix for each verdict, as in docs/verdicts.md.
var toFix = [verdict.Count]string{
	verdict.Undecided:           "unknown",
	verdict.Node:                "the node or its kubelet",
	verdict.NodeRebooted:        "the machine, which restarted",
	verdict.SharedPath:          "something that several nodes share: etcd, an API server, a zone or a network",
	verdict.ControllerManager:   "the kube-controller-manager",
	verdict.GracePeriod:         "the setting --node-monitor-grace-period",
	verdict.Planned:             "nothing: the removal or maintenance was planned",
	verdict.EndpointsController: "the selector of a Service with manually managed Endpoints",
	verdict.ForeignWriter:       "the client that writes the addresses",
	verdict.ServiceSpec:         "the Service, which was changed",
	verdict.UpdateInPlace:       "the rollout, which changes images while the pods receive traffic",
	verdict.Workload:            "the pods of the workload",
}

// ToFix names the component to fix for a verdict.
func ToFix(v verdict.Verdict) string { return toFix[v] }
