package advice

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// causeText is what kubeflap says about a cause. See Affected.fill for the names in braces.
type causeText struct {
	// happened is the summary of an incident, remedy what to do.
	happened, remedy string
	// pending and pendingRemedy are the same while no address is lost yet.
	pending, pendingRemedy string
	// advice and why are what `kubeflap advise` says.
	advice, why string
}

const (
	removeSelector = "Remove the selector of Service {name}: it matches no pod, and the endpoints controller wipes hand-written addresses of a Service with a selector. "
	findNode       = "The node of {name} was lost or not ready, and kubeflap has not seen which: look at the nodes' Ready conditions."
)

// causeTexts are the words of each cause, and the only table of remedies.
var causeTexts = [cause.Count]causeText{
	cause.Unknown: {
		happened: "addresses went for an unknown reason, in pods of {owner}",
		remedy:   "The evidence does not tell. Look at the events of {name} (kubectl get events -n {namespace}), and report a recording of it to kubeflap.",
	},
	cause.NodeHeartbeatLost: {happened: "a node was lost with pods of {owner}", remedy: findNode},
	cause.NodeNotReady:      {happened: "a node was not ready with pods of {owner}", remedy: findNode},
	cause.KubeletRestart:    {happened: "a kubelet restarted with pods of {owner}", remedy: findNode},
	cause.ProbeFailed: {
		happened: "readiness probes failed in pods of {owner}",
		remedy: "See what the readiness probe of {name} says (kubectl describe pod) and whether its timeout and failureThreshold fit; " +
			"a probe that depends on something shared takes all pods out at once.",
	},
	cause.ContainerExit: {
		happened: "containers ended in pods of {owner}",
		remedy:   "Look at why the containers of {name} ended: kubectl logs --previous, the exit code, OOMKilled against the memory limit, the liveness probe.",
	},
	cause.InPlaceUpdate: {
		happened: "an in-place update of {name} took its addresses out one by one",
		remedy:   "Take an address out first: a readiness gate turned off before the image changes, and on again when the new container serves.",
		advice:   "let whatever updates these pods turn their readiness gate False before, and True after",
		why:      "a kubelet says Ready until the old container is really gone: only a gate takes the address out of rotation first.",
	},
	cause.ReadinessGate: {
		happened: "a readiness gate turned not True in pods of {owner}",
		remedy:   "Look at the controller that sets the readiness gate of {name}, a load-balancer controller as a rule: it says what it waits for.",
	},
	cause.PodDeleted: {
		happened: "pods were deleted of {owner}",
		remedy:   "If {name} was not scaled to zero on purpose, make its roll-out overlap: maxUnavailable 0 with at least 2 replicas, and a preStop pause of some seconds.",
	},
	cause.PodEvicted: {
		happened: "pods were evicted of {owner}",
		remedy:   "Give {name} a PodDisruptionBudget and replicas on several nodes, so that a drain, a taint or pressure on one node does not take all of them.",
	},
	cause.PodCompleted: {
		happened: "pods ran to their end of {owner}",
		remedy: "What {name} runs comes to its end and is not restarted: something that serves wants a Deployment, " +
			"and a Service should not choose the pods of a Job.",
	},
	cause.EndpointsReset: {
		happened:      "The endpoints controller wiped the hand-written addresses of Service {name}, which has a selector",
		remedy:        removeSelector + "Then write the Endpoints once more. Grace period and API rates play no part.",
		pending:       "Service {name} has a selector and hand-written addresses, which the endpoints controller will wipe",
		pendingRemedy: removeSelector + "Until then any sync of the Service, or a restart of the kube-controller-manager, takes them.",
		advice:        `remove the selector: kubectl -n {namespace} patch service {name} --type=json -p '[{"op":"remove","path":"/spec/selector"}]'`,
		why: "the endpoints controller makes the Endpoints of a Service with a selector itself: " +
			"at its next sync it replaces what was written by hand with the pods that match, and none does.",
	},
	cause.ManualWrite: {
		happened: "Someone edited or wiped the addresses of Service {name}",
		remedy: "Find out who writes the addresses of Service {name}: the audit log and the managedFields of its Endpoints and EndpointSlices name them. " +
			"Let one writer replace them in one update instead of emptying them first.",
		advice: "find who writes them (managedFields of the Endpoints, the audit log) and let it replace them in one write",
		why:    "no controller touches the Endpoints of a Service without a selector: a client deleted them, or wrote them empty first.",
	},
	cause.ServiceChanged: {
		happened: "Service {name} was changed and chooses other pods",
		remedy:   "Compare the selector and publishNotReadyAddresses of Service {name} with the labels of its pods, and with who changed it last.",
	},
}

// Affected is the workload or the Service that lost addresses, and why.
type Affected struct {
	Cause cause.Cause
	// Name is how sentences name it, such as "Deployment shop/web".
	Namespace, Name string
	// Pending: no address is lost yet.
	Pending bool
	// Windows are the bounces that consumers saw. Only in-place updates have them.
	Windows []Window
}

// Happened is what happened to a workload or a Service, as the beginning of a sentence.
func (a Affected) Happened() string {
	text := causeTexts[a.Cause]
	if a.Pending && text.pending != "" {
		return a.fill(text.pending)
	}
	return a.fill(text.happened)
}

// Remedy is what to do.
func (a Affected) Remedy() string {
	text := causeTexts[a.Cause]
	switch {
	case a.Pending && text.pendingRemedy != "":
		return a.fill(text.pendingRemedy)
	case a.Cause == cause.InPlaceUpdate:
		return text.remedy + " " + windowRemedy(a.Windows)
	}
	return a.fill(text.remedy)
}

// fill puts in the names. The owner is the Service itself where pods have no controller.
func (a Affected) fill(text string) string {
	owner := strings.TrimPrefix(a.Name, "the pods of ")
	return strings.NewReplacer("{name}", a.Name, "{owner}", owner, "{namespace}", a.Namespace).Replace(text)
}
