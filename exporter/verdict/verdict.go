// Package verdict decides which component somebody has to fix. It weighs
// hypotheses by the facts of an incident, and says which it excluded and why.
//
// It reads no clock and keeps no state: the same facts give the same decision.
package verdict

import "slices"

// Verdict is the component that somebody has to fix. The set is closed.
type Verdict uint8

// The verdicts.
const (
	// Undecided: no hypothesis holds, or two hold that exclude each other.
	Undecided Verdict = iota
	// Node: this node or its kubelet.
	Node
	// NodeRebooted: the machine restarted.
	NodeRebooted
	// SharedPath: something that several nodes share on the way to the API: etcd, an API server, a zone, a network.
	SharedPath
	// ControllerManager: the kube-controller-manager is slow, its watch is stale, or it leaves silent nodes Ready.
	ControllerManager
	// GracePeriod: the node monitor grace period is not longer than an undisturbed heartbeat interval.
	GracePeriod
	// Planned: the departure was announced. Nothing is at fault.
	Planned
	// EndpointsController: a selector on a Service with manually managed Endpoints.
	EndpointsController
	// ForeignWriter: another writer changes the addresses of a Service.
	ForeignWriter
	// ServiceSpec: somebody changed the Service.
	ServiceSpec
	// UpdateInPlace: a rollout changes images while pods receive traffic.
	UpdateInPlace
	// Workload: the pods themselves.
	Workload

	// Count is the number of verdicts, for arrays indexed by Verdict.
	Count
)

var texts = [Count]string{
	Undecided: "undecided", Node: "node", NodeRebooted: "node_rebooted", SharedPath: "shared_path",
	ControllerManager: "controller_manager", GracePeriod: "grace_period", Planned: "planned",
	EndpointsController: "endpoints_controller", ForeignWriter: "foreign_writer", ServiceSpec: "service_spec",
	UpdateInPlace: "update_in_place", Workload: "workload",
}

// String is the value of the label `verdict`.
func (v Verdict) String() string { return texts[v] }

// Parse converts the value of the label `verdict`. A later kubeflap may have others.
func Parse(s string) (v Verdict, ok bool) {
	i := slices.Index(texts[:], s)
	return Verdict(max(i, 0)), i >= 0
}

// All lists the verdicts in their order.
func All() []Verdict {
	all := make([]Verdict, Count)
	for i := range all {
		all[i] = Verdict(i)
	}
	return all
}

// Answer is whether a hypothesis holds.
type Answer uint8

// The answers.
const (
	// Unknown: the facts do not decide.
	Unknown Answer = iota
	No
	Yes
)

// String is the answer in the API.
func (a Answer) String() string { return [...]string{"unknown", "no", "yes"}[a] }

// Considered is a hypothesis that was weighed, with the fact that decided.
type Considered struct {
	Verdict Verdict
	Holds   Answer
	Because string
}

// Decision is a verdict, and what was considered for it.
type Decision struct {
	Verdict    Verdict
	Considered []Considered
	// Command would decide between the remaining hypotheses; only if Verdict is Undecided.
	Command string
	// Etcd: all API servers stopped renewing their Leases when the nodes fell silent; only if Verdict is SharedPath.
	Etcd bool
}

// decide weighs hypotheses in the order of their precedence. The first that holds is the verdict, unless an earlier one that would
// exclude it is unknown and open says that it may still hold.
func decide(considered []Considered) Decision {
	d := Decision{Considered: considered}
	for _, c := range considered {
		if c.Holds == Yes {
			d.Verdict = c.Verdict
			break
		}
	}
	return d
}
