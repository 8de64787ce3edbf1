// Package verdict defines the closed set of components that may need to be fixed, and the answers to the hypotheses that
// were considered.
package verdict

import "slices"

// Verdict is the component that needs to be fixed. The set of verdicts is fixed.
type Verdict uint8

// The verdicts.
const (
	// Undecided means that no hypothesis holds.
	Undecided Verdict = iota
	// Node means that this node or its kubelet is at fault.
	Node
	// NodeRebooted means that the machine restarted.
	NodeRebooted
	// SharedPath means that something on the path from several nodes to the API is at fault: etcd, an API server, a
	// zone or a network.
	SharedPath
	// ControllerManager means that the kube-controller-manager is at fault. It is slow, has a stale watch, or leaves
	// silent nodes Ready.
	ControllerManager
	// GracePeriod means that the node monitor grace period is not longer than an undisturbed heartbeat interval.
	GracePeriod
	// Planned means that the departure was announced. Nothing is at fault.
	Planned
	// EndpointsController means that the endpoints controller overwrote manually managed Endpoints because the Service
	// has a selector.
	EndpointsController
	// ForeignWriter means that a writer other than a Kubernetes controller changes a Service's addresses.
	ForeignWriter
	// ServiceSpec means that somebody changed the Service.
	ServiceSpec
	// UpdateInPlace means that a rollout changes images while the pods receive traffic.
	UpdateInPlace
	// Workload means that the pods themselves are at fault.
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

// String returns the value of the `verdict` label.
func (v Verdict) String() string { return texts[v] }

var words = [Count]string{
	Undecided: "undecided", Node: "the node or its kubelet", NodeRebooted: "a reboot of the machine",
	SharedPath: "etcd, an API server or the network", ControllerManager: "the kube-controller-manager", GracePeriod: "a grace period that is too short",
	Planned: "a planned departure", EndpointsController: "the Service's selector", ForeignWriter: "another writer of the addresses",
	ServiceSpec: "a change to the Service", UpdateInPlace: "an in-place update", Workload: "the pods themselves",
}

// Words returns the verdict in plain words.
func (v Verdict) Words() string { return words[v] }

// MarshalText returns the value of the `verdict` label.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses a value of the `verdict` label. Unknown values, for example from later versions of kubeflap,
// become Undecided.
func (v *Verdict) UnmarshalText(text []byte) error {
	*v, _ = Parse(string(text))
	return nil
}

// Parse returns the verdict for a value of the `verdict` label. ok is false for unknown values, which later versions of
// kubeflap may use.
func Parse(s string) (v Verdict, ok bool) {
	i := slices.Index(texts[:], s)
	return Verdict(max(i, 0)), i >= 0
}

// All returns all verdicts in the order of their constants.
func All() []Verdict {
	all := make([]Verdict, Count)
	for i := range all {
		all[i] = Verdict(i)
	}
	return all
}

// Reason adds details about a single silence to the verdict of its incident. The set of reasons is fixed.
type Reason uint8

// The reasons.
const (
	// NoReason means that nothing needs to be added to the verdict.
	NoReason Reason = iota
	// Late means that the next heartbeat arrived within the grace period. Such a silence has no incident.
	Late
	// Slow means that the node is at fault, but was silent for at most advice.LongestGrace, the longest recommended
	// grace period.
	Slow
	// Down means that the node is at fault and was silent for longer than advice.LongestGrace.
	Down
	// Announced means that the node's departure was announced. Rebooted means that the silence ended with a reboot. In
	// both cases, the incident's verdict is Node because of other silences.
	Announced
	Rebooted
	// Upgraded means that the node fell silent because its kubelet was replaced by a different version.
	Upgraded
	// ClockSetBack means that the node controller ignored the node's heartbeats because the node's clock was set back.
	ClockSetBack
	// LeftReady means that the node controller left the silent node Ready for too long.
	LeftReady
)

var reasonTexts = [...]string{NoReason: "", Late: "late", Slow: "slow", Down: "down", Announced: "announced", Rebooted: "rebooted", Upgraded: "upgraded", ClockSetBack: "clock_set_back", LeftReady: "left_ready"}

// String returns the name of the reason.
func (r Reason) String() string { return reasonTexts[r] }

// Answer states whether a hypothesis or a fact holds.
type Answer uint8

// The answers.
const (
	// Unknown means that kubeflap has not seen enough to answer the question.
	Unknown Answer = iota
	No
	Yes
)

var answers = [...]string{Unknown: "unknown", No: "no", Yes: "yes"}

// String returns the answer as it appears in kubeflap's API.
func (a Answer) String() string { return answers[a] }

// MarshalText returns the answer as it appears in kubeflap's API.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses an answer from kubeflap's API. Any other text becomes Unknown.
func (a *Answer) UnmarshalText(text []byte) error {
	*a = Answer(max(slices.Index(answers[:], string(text)), 0))
	return nil
}

// Considered is a hypothesis with its answer and the deciding fact.
type Considered struct {
	Verdict Verdict `json:"verdict"`
	Holds   Answer  `json:"holds"`
	Because string  `json:"because"`
}

// Decision is a verdict and the hypotheses that were considered for it.
type Decision struct {
	Verdict    Verdict
	Considered []Considered
	// Command is a command whose output can decide between the remaining hypotheses. It is only set if Verdict is
	// Undecided.
	Command string
	// Etcd reports whether all API servers stopped renewing their Leases when the nodes fell silent. It is only set if
	// Verdict is SharedPath.
	Etcd bool
	// Together is the number of nodes that were silent or late together. It is only set if Verdict is SharedPath.
	Together int
}

// Words returns the verdict in plain words.
func (d *Decision) Words() string {
	if d.Etcd {
		return "etcd or an API server"
	}
	return d.Verdict.Words()
}
