package advice

import (
	"cmp"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// waitText holds the texts for what a Service without a ready address waits for. They contain placeholders in braces.
type waitText struct {
	// The field what names what is missing. It is followed by the reason in parentheses, if there is one.
	what string
	// The field now is the remedy while the Service waits, and later the one after that. If later is empty, now is used.
	now, later string
	// The field began is the cause whose remedy says the same as now.
	began cause.Cause
}

// waitTexts holds the texts of all kinds.
var waitTexts = map[transition.WaitKind]waitText{
	transition.WaitReplicas: {
		what: "replicas: its workload is scaled to 0",
		now:  "If nobody did this on purpose, scale the workload up again. Also check its autoscaler.",
	},
	transition.WaitPod: {
		what: "a pod that its selector matches",
		now: "Find out why there is none: look for FailedCreate events of the ReplicaSet or StatefulSet (kubectl -n {namespace} get events), " +
			"for example because of a quota or an admission webhook, and compare the selector with the labels of the pods.",
	},
	transition.WaitNode: {
		what: "a node for pod {pod}",
		now: "Make sure that a node fits the pod: compare the scheduler's reason with the pod's requests, tolerations, affinity and volumes " +
			"(kubectl -n {namespace} describe pod {name}). If it has scheduling gates, check the controller that removes them.",
	},
	transition.WaitImage: {
		what: "the image of pod {pod}",
		now:  "Check the name and the tag of the image, the imagePullSecrets, and whether {node} reaches the registry (kubectl -n {namespace} describe pod {name}).",
	},
	transition.WaitCreate: {
		what: "a container of pod {pod} to be created",
		now:  "Fix what the kubelet reports, such as a missing ConfigMap or Secret, a wrong command or a failed mount (kubectl -n {namespace} describe pod {name}).",
	},
	transition.WaitCrash: {
		what:  "a container of pod {pod} to keep running",
		now:   "Find out why it exits: check the log (kubectl -n {namespace} logs --previous {name}), the exit code, the memory limit (OOMKilled) and the liveness probe.",
		began: cause.ContainerExit,
	},
	transition.WaitInit: {
		what: "the init containers of pod {pod}",
		now:  "Find out which init container has not completed, and why (kubectl -n {namespace} describe pod {name}).",
	},
	transition.WaitStart: {
		what: "the containers of pod {pod} to be created",
		now: "Find out what the kubelet on {node} waits for: the events of the pod name a volume that cannot be attached or mounted, " +
			"a missing ConfigMap or Secret, or the network plug-in (kubectl -n {namespace} describe pod {name}).",
	},
	transition.WaitProbe: {
		what: "a probe of pod {pod}",
		now:  "Check what the readiness and startup probes report (kubectl -n {namespace} describe pod {name}), and what the log says that the container waits for.",
	},
	transition.WaitGate: {
		what: "a readiness gate of pod {pod}",
		now: "Check the controller that sets this readiness gate, usually a load-balancer controller: its log, its permissions, and what it waits for, " +
			"such as the health check of a target. The containers of the pod are ready.",
		began: cause.ReadinessGate,
	},
	transition.WaitReady: {
		what: "the Ready condition of pod {pod}, although its containers and {node} are ready",
		now:  "Delete the pod, or restart the kubelet on {node}: the kubelet has not set Ready to True again.",
		later: "The kubelet on {node} did not set Ready to True again: look for failed status updates in its log. " +
			"If this happens again, delete the pod, or restart the kubelet.",
	},
	transition.WaitAddress: {
		what: "the address of pod {pod}, although the pod is Ready",
		now: "Check the endpoints controllers in the kube-controller-manager: its log, its leader election and its client's rate limit. " +
			"They have not written the address.",
	},
	transition.WaitDeletion: {
		what: "the end of pod {pod}, which is being deleted",
		now: "A StatefulSet creates the next pod only after this one is gone. If {node} is down for good, add the taint node.kubernetes.io/out-of-service to it, " +
			"or delete the pod with --force. Otherwise, check the pod's finalizers and what keeps its containers from exiting.",
	},
}

// Waiting is what a Service in a namespace waits for.
type Waiting struct {
	Namespace string
	transition.Wait
}

// What names what is missing, such as "a node for pod shop/web-1".
func (w Waiting) What() string {
	s := w.fill(waitTexts[w.Kind].what)
	if w.Reason != "" {
		s += " (" + w.Reason + ")"
	}
	return s
}

// Remedy describes how to fix what is missing. The parameter ongoing is set while it is missing.
func (w Waiting) Remedy(ongoing bool) string {
	text := waitTexts[w.Kind]
	if w.Kind == transition.WaitCrash {
		text.now = cmp.Or(saidRemedy(cause.ContainerExit, w.Reason), text.now)
	}
	if !ongoing && text.later != "" {
		return w.fill(text.later)
	}
	return w.fill(text.now)
}

// Began reports whether the remedy for what began an outage says the same.
func (w Waiting) Began(a Affected) bool {
	of := waitTexts[w.Kind].began
	return of != cause.Unknown && of == a.Cause && saidRemedy(of, w.Reason) == saidRemedy(of, a.Said)
}

func (w Waiting) fill(text string) string {
	node := w.Node
	if node == "" {
		node = "the node"
	}
	return fill(text, "{pod}", w.Namespace+"/"+w.Pod, "{name}", w.Pod, "{namespace}", w.Namespace, "{node}", node, "POD", w.Pod)
}
