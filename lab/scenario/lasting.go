package scenario

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
)

// downAlert is the alert for a Service without a ready address. It fires after a minute.
const downAlert = "KubeflapServiceDown"

// waitsFor waits until kubeflap says what an ongoing outage of the Service "web" waits for, and until the alert has
// arrived. The first step of the remedy must be about it.
func waitsFor(l *Lab, what, first string) {
	if l.URL == "" {
		l.Sleep(alertSent)
		return
	}
	l.Until("kubeflap to say what shop/web waits for", func(l *Lab) {
		var found compare.Incident
		for _, x := range l.Incidents().Incidents {
			if x.WaitsFor != "" {
				found = x
			}
		}
		l.Expect(found.WaitsFor == "shop/web waits for "+what && found.FirstStep == first, "got %q and %q", found.WaitsFor, found.FirstStep)
	})
	if l.Fired != nil {
		l.Must(l.Fired(l.Ctx, downAlert))
	}
}

// gateMissing replaces the only pod of a Service. The new pod has a readiness gate whose condition nobody sets, for
// example because the load-balancer controller does not run.
func gateMissing() Scenario {
	return Scenario{
		Name:     "gate-missing",
		Summary:  "the only pod of a Service is replaced, and nobody sets the readiness gate of the new pod: the containers are ready, the Service is down",
		Reports:  []Report{{"workload", "workload", "pod_deleted", "Service/web", "", "Check the controller that sets this readiness gate"}},
		Advised:  []string{"Nothing to advise."},
		LossesBy: "pod_deleted",
		Alerts:   []Alert{{Name: downAlert, Object: "shop/web", Remedy: "Check the controller that sets this readiness gate"}},
		Options:  cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(l *Lab) {
			makeWeb(l, gated, cluster.NodeName(0))
			setCondition(l, "shop", podName(0), string(gate), corev1.ConditionTrue)
			l.waitForReadyAddresses("shop", "web", 1)
		},
		Run: func(l *Lab) {
			remove(l, l.Client.CoreV1().Pods("shop"), podName(0))
			successor := newPod("shop", podName(1), cluster.NodeName(1), "web")
			gated(successor)
			createPod(l, successor)
			waitsFor(l, "a readiness gate of pod shop/web-2 ("+string(gate)+" has no condition)",
				"Check the controller that sets this readiness gate, usually a load-balancer controller: its log, its permissions, "+
					"and what it waits for, such as the health check of a target.")
			setCondition(l, "shop", podName(1), string(gate), corev1.ConditionTrue)
			l.webHas(1, "ready")
		},
	}
}

// readyNotRestored stops the kubelet of the only pod of a Service until the node is Unknown. When the kubelet reports
// again, an admission policy rejects its updates of the pod, so the pod stays not Ready on a healthy node.
func readyNotRestored() Scenario {
	const victim = "node-2"
	advised, others := onlyAdvised("nodes slow")
	return Scenario{
		Name:    "ready-not-restored",
		Summary: "a node is lost and returns, but its kubelet cannot set the only pod of a Service to Ready again: an admission policy rejects the update",
		Reports: []Report{{"node", "node", "node_heartbeat_lost", victim, "", "The kubelet on " + victim + " did not set Ready to True again"}},
		Advised: advised, NotAdvised: others,
		LossesBy: "node_heartbeat_lost",
		Alerts: []Alert{
			lostAlert(victim, "set Ready to True again"),
			{Name: downAlert, Object: "shop/web", Remedy: "set Ready to True again"},
			{Name: "KubeflapGracePeriodTooTight", Says: []string{"The grace period of 24s"}},
		},
		Options: graced(3),
		Prepare: func(l *Lab) {
			MakeReadyWeb(l, victim)
			l.waitForNoTaints()
		},
		Run: func(l *Lab) {
			kubelet := l.Cluster.Kubelets[victim]
			l.WaitForHeartbeats()
			allow := rejectReady(l, podName(0))
			l.Must(kubelet.Pause())
			l.waitForNodeStatus("unknown", victim)
			l.webHas(1, "not_ready")
			l.Must(kubelet.Resume())
			l.waitForNodeStatus("true", victim)
			waitsFor(l, "the Ready condition of pod shop/web-1, although its containers and "+victim+" are ready",
				"Delete the pod, or restart the kubelet on "+victim+": the kubelet has not set Ready to True again.")
			allow(l)
			l.webHas(1, "ready")
		},
	}
}

// rejectReady creates an admission policy that rejects all updates with which a pod would be Ready, and waits until it
// has taken effect. The returned function removes it.
func rejectReady(l *Lab, pod string) (allow func(*Lab)) {
	const name = "nothing-is-ready"
	admission, meta := l.Client.AdmissionregistrationV1(), metav1.ObjectMeta{Name: name}
	create(l, admission.ValidatingAdmissionPolicies(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/status"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: `object.status.conditions.all(c, c.type != "Ready" || c.status != "True")`}},
		},
	})
	create(l, admission.ValidatingAdmissionPolicyBindings(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: "shop"},
			}},
		},
	})
	l.Until("the policy to take effect", func(l *Lab) {
		_, err := l.Client.CoreV1().Pods("shop").Patch(l.Ctx, pod, types.MergePatchType, []byte(`{"metadata":{"annotations":{"touched":"x"}}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		l.Expect(err != nil, "the status of %s can still be changed", pod)
	})
	return func(l *Lab) { remove(l, admission.ValidatingAdmissionPolicyBindings(), name) }
}

// alertSent is the maximum time until an alert about a node fires.
const alertSent = time.Minute

// lostAlert returns the expected alert for a node whose heartbeats stop without an announcement.
func lostAlert(node, remedy string) Alert {
	return Alert{Name: "KubeflapNodeLost", Object: "Node " + node, Remedy: remedy}
}
