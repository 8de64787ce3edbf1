package advice

import (
	"cmp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// causeText holds the texts for a cause. They contain placeholders in braces.
type causeText struct {
	// The field happened summarizes the incident, and remedy describes how to fix it.
	happened, remedy string
	// Before the first address is lost, pending is used instead of happened, and pendingRemedy instead of remedy.
	pending, pendingRemedy string
	// advice and why are the texts of `kubeflap advise`.
	advice, why string
}

const (
	patchSelector  = `kubectl -n {namespace} patch service {object} --type=json -p '[{"op":"remove","path":"/spec/selector"}]'`
	removeSelector = "Remove the selector of Service {name} (" + patchSelector + "): it matches no pod, and the endpoints controller removes manually managed addresses of a Service with a selector. "
	knownManager   = "If the manager is meant to add addresses, pass its name to --endpoints.known-manager."
	findNode       = "Check the Ready conditions of the nodes (kubectl get nodes): a node with pods of {name} was lost or not Ready, but kubeflap does not know which one."
)

// causeTexts holds the texts of all causes. Remedies for workloads and Services come from this table only.
var causeTexts = [cause.Count]causeText{
	cause.Unknown: {
		happened: "pods of {owner} lost addresses for an unknown reason",
		remedy:   "Look at the events of {name} (kubectl -n {namespace} get events), because the evidence does not show the cause. Please report the problem to the kubeflap project, with a recording.",
	},
	cause.NodeHeartbeatLost: {happened: "a node with pods of {owner} was lost", remedy: findNode},
	cause.NodeNotReady:      {happened: "a node with pods of {owner} was not Ready", remedy: findNode},
	cause.KubeletRestart:    {happened: "the kubelet of a node with pods of {owner} restarted", remedy: findNode},
	cause.ProbeFailed: {
		happened: "readiness probes failed in pods of {owner}",
		remedy:   "Check what the readiness probe of {name} reports (kubectl -n {namespace} describe pods) and whether its timeout is long enough and its failureThreshold high enough. A probe that depends on a shared component takes all pods out of rotation at once.",
	},
	cause.ContainerExit: {
		happened: "containers exited in pods of {owner}",
		remedy:   "Find out why the containers of {name} exited: check the log (kubectl -n {namespace} logs --previous POD), the exit code, the memory limit (OOMKilled) and the liveness probe.",
	},
	cause.InPlaceUpdate: {
		happened: "an in-place update of {name} took its addresses out of rotation one by one",
		remedy:   "Take each address out of rotation before its image changes: set a readiness gate to False, and back to True when the new container is ready.",
		advice:   "configure the tool that updates these pods to set their readiness gate to False before each update, and to True afterwards",
		why:      "the kubelet reports Ready until the old container has stopped, so only a readiness gate can take the address out of rotation earlier.",
	},
	cause.ReadinessGate: {
		happened: "a readiness gate stopped being True in pods of {owner}",
		remedy:   "Check the controller that sets the readiness gate of {name}, usually a load-balancer controller, and find out what it is waiting for.",
	},
	cause.PodDeleted: {
		happened: "pods of {owner} were deleted",
		remedy:   "Unless somebody scaled {name} to zero on purpose, make sure that new pods start before old ones stop. Use at least 2 replicas, maxUnavailable 0, and a preStop sleep of a few seconds.",
	},
	cause.PodEvicted: {
		happened: "pods of {owner} were evicted",
		remedy:   "Give {name} a PodDisruptionBudget and replicas on several nodes, so that a drain, a taint or pressure on one node does not evict all of them.",
	},
	cause.PodCompleted: {
		happened: "pods of {owner} completed",
		remedy: "The containers of {name} exit and are not restarted: use a Deployment for servers, " +
			"and do not let a Service select the pods of a Job.",
	},
	cause.EndpointsReset: {
		happened:      "Service {name} has a selector, so the endpoints controller removed its manually managed addresses",
		remedy:        removeSelector + "Afterwards, write the Endpoints again. The grace period and the API rate limits are not at fault.",
		pending:       "Service {name} has a selector, so the endpoints controller will remove its manually managed addresses",
		pendingRemedy: removeSelector + "If you do not, the next sync of the Service or a restart of the kube-controller-manager removes these addresses.",
		advice:        "remove the selector: " + patchSelector,
		why: "the endpoints controller owns the Endpoints of a Service with a selector. " +
			"At its next sync, it replaces manually managed addresses with the addresses of matching pods, and no pod matches.",
	},
	cause.ManualWrite: {
		happened: "Someone edited or removed the addresses of Service {name}",
		remedy:   "Find out who writes the addresses of Service {name}: the audit log and the managedFields of its Endpoints and EndpointSlices name the writer. Let one writer replace the addresses in a single update, without clearing them first.",
		pending:  "Service {name} has a selector, and addresses from an unexpected writer",
		pendingRemedy: "Find out who needs these addresses: the evidence of the incident names the object and its manager. If nobody needs them, delete the object. Its ready addresses receive traffic, and no controller removes them. " +
			knownManager,
	},
	cause.ServiceChanged: {
		happened: "Service {name} was changed and now selects different pods",
		remedy:   "Compare the selector of Service {name} with the labels of the pods, check publishNotReadyAddresses, and find out who changed the Service last.",
	},
}

// Affected is a workload or Service that lost addresses, with the cause of the loss.
type Affected struct {
	Cause cause.Cause
	// Name is the name in sentences, such as "Deployment shop/web".
	Namespace, Name string
	// Pending reports whether no address is lost yet.
	Pending bool
	// Resolved reports whether the selector conflict is resolved: the selector was removed, or it matches pods now.
	// ServiceGone reports whether the Service was deleted.
	Resolved, ServiceGone bool
	// PodAddressesRemoved reports whether someone other than the endpoints controller removed pod addresses from
	// Endpoints that this controller manages.
	PodAddressesRemoved bool
	// ForeignAddressesGone reports whether an unexpected writer's addresses were removed from a Service with a
	// selector.
	ForeignAddressesGone bool
	// Replaced reports whether the pods were replaced again and again.
	Replaced bool
	// Said quotes what the API says about the cause. Probed reports whether readiness probes failed before the containers
	// exited.
	Said   string
	Probed bool
	// Relabelled reports whether the pods were relabelled, so that the Service no longer selects them.
	Relabelled bool
	// DeletedNodes lists the Nodes that were deleted without notice. It is empty unless all lost addresses were on such
	// Nodes.
	DeletedNodes []string
	// Vanished reports whether all addresses were lost for an unknown reason while kubeflap was not watching.
	Vanished bool
	// Windows has an entry for each batching window, with the mistakes of clients. It is only set for in-place updates.
	Windows []Window
}

// texts returns what happened, and how to fix it. At most one of the special cases applies, because each cause of a
// workload or Service has its own incident.
func (a Affected) texts() (happened, remedy string) {
	text := causeTexts[a.Cause]
	switch {
	case a.PodAddressesRemoved:
		return "Someone removed ready pod addresses from the Endpoints of Service {name}",
			"Find out who edits the Endpoints of Service {name}: the evidence names the field manager, and the audit log names the user. The endpoints controller writes them again when a pod or " +
				"the Service changes, or if you delete them. To take a pod out of rotation, change its labels or set one of its readiness gates to False."
	case a.ForeignAddressesGone:
		return "Service {name} had a selector, and addresses from an unexpected writer",
			"No action is needed, unless the addresses come back. In that case, find out who writes them: the evidence of the incident names the object and its manager. " + knownManager
	case len(a.DeletedNodes) > 0:
		return "{name} lost its pods after the deletion of {nodes}",
			"Find out who deleted {nodes}: the cloud, the autoscaler or an administrator. If machines are removed on purpose, drain them first. In any case, {name} needs replicas on several nodes."
	case a.Vanished:
		return "pods of {owner} lost addresses while kubeflap was not watching",
			"Look at the events of {name} (kubectl -n {namespace} get events), because kubeflap did not see the cause."
	case a.Replaced && a.Cause == cause.PodDeleted:
		return "pods of {owner} were replaced again and again", "Find out what deletes the pods of {owner} again and again: the events (kubectl -n {namespace} get events) and the audit log show who. For a static pod, look at the kubelet's log and at the manifests on the node."
	case a.Resolved && a.Pending:
		return "Service {name} had manually managed addresses, and a selector that matched no pod", text.pendingRemedy
	case a.Resolved:
		return "Service {name} had a selector that matched no pod, so the endpoints controller removed its manually managed addresses", text.remedy
	case a.Pending && text.pending != "":
		return text.pending, text.pendingRemedy
	case a.Relabelled:
		return "pods of Service {owner} were relabelled, so its selector no longer matches them",
			"If a label was changed by mistake, set it back: the managedFields of the pod show who wrote its labels last (kubectl -n {namespace} get pod -o yaml --show-managed-fields). " +
				"If a pod was taken out on purpose, delete it in the end, because its ReplicaSet has replaced it and no longer manages it."
	case a.Probed:
		text.happened = "readiness probes failed in pods of {owner}, and then containers exited"
	case a.Cause == cause.InPlaceUpdate:
		return text.happened, text.remedy + " " + windowRemedy(a.Windows)
	}
	return text.happened, cmp.Or(saidRemedy(a.Cause, a.Said), text.remedy)
}

// Happened summarizes what happened to the workload or Service, as the beginning of a sentence.
func (a Affected) Happened() string {
	happened, _ := a.texts()
	return a.fill(happened)
}

// Remedy describes how to fix the problem.
func (a Affected) Remedy() string {
	_, remedy := a.texts()
	switch {
	case a.ServiceGone && a.Cause == cause.EndpointsReset:
		return "No action is needed. If you create the Service again and manage its addresses manually, leave out the selector."
	case a.ServiceGone:
		return "No action is needed."
	}
	return a.fill(remedy)
}

// PlannedRemedy returns the remedy if all addresses were lost because of announced node removals. announcedBy describes
// the announcement. The parameter failed is set if a Service had no ready address for cause.FinalAfter.
func (a Affected) PlannedRemedy(announcedBy string, failed bool) string {
	left := "the pods left nodes whose departure was announced by " + announcedBy
	if failed {
		return a.fill("The plan failed: " + left + ", and no other pod was ready within " + phrase.Duration(cause.FinalAfter) +
			". Before the next departure, give {name} a PodDisruptionBudget and replicas on several nodes.")
	}
	return a.fill("Nothing is at fault: " + left + ". If {name} must stay available meanwhile, give it a PodDisruptionBudget and replicas on several nodes.")
}

// Advice returns the permanent change that `kubeflap advise` recommends, and the reason.
func (a Affected) Advice() (change, why string) {
	text := causeTexts[a.Cause]
	return a.fill(text.advice), text.why
}

func (a Affected) fill(text string) string {
	nodes := "Node "
	if len(a.DeletedNodes) > 1 {
		nodes = "Nodes "
	}
	return fill(text, "{name}", a.Name, "{owner}", strings.TrimPrefix(a.Name, "the pods of "), "{namespace}", a.Namespace,
		"{object}", a.Name[strings.LastIndexByte(a.Name, '/')+1:], "{nodes}", nodes+phrase.Some(a.DeletedNodes))
}

// fill replaces placeholders in a text. Each is followed by its value. A strings.Replacer would build a search tree for each
// text.
func fill(text string, values ...string) string {
	for i := 0; i < len(values); i += 2 {
		text = strings.ReplaceAll(text, values[i], values[i+1])
	}
	return text
}
