package scenario

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// overwrittenBefore reproduces the incident of overwritten Endpoints. kubeflap starts only after the Endpoints were
// overwritten.
func overwrittenBefore() Scenario {
	return Scenario{
		Name:    "overwritten-before",
		Summary: "manually managed Endpoints were overwritten before kubeflap started",
		Reports: []Report{{"endpoints_controller", "service", "endpoints_reset", "kube-scheduler", "", "Remove the selector of Service kube-system/kube-scheduler"}},
		Alerts: []Alert{{
			Name: "KubeflapSelectorConflict", Object: "Service kube-system/kube-scheduler",
			Remedy: "Remove the selector of Service kube-system/kube-scheduler",
		}},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare:   prepareOverwrittenBefore,
		Run: func(l *Lab) {
			l.waitForReportedValue(1, "kubeflap_service_selector_conflict", "namespace", metav1.NamespaceSystem, "service", "kube-scheduler")
		},
	}
}

// prepareOverwrittenBefore applies Endpoints as kubectl apply does. Then it makes the endpoints controller overwrite
// them.
func prepareOverwrittenBefore(l *Lab) {
	const namespace, name = metav1.NamespaceSystem, "kube-scheduler"
	const applied = `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
		`"{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.11\"}]}]}"}}}`
	client := l.Client.CoreV1().Endpoints(namespace)
	createService(l, namespace, name, map[string]string{"k8s-app": name})
	waitForEndpoints(l, namespace, name)
	writeEndpoints(l, namespace, name, "192.0.2.11")
	patch(l, client, name, applied)
	l.Must(l.Cluster.ControllerManager.Restart())
	l.Until("empty Endpoints of "+name, func(l *Lab) {
		subsets := get(l, client, name).Subsets
		l.Expect(len(subsets) == 0, "got %v", subsets)
	})
}
