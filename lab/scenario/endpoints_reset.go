package scenario

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// controlPlaneServices returns two Services whose components run outside pods. The Services have a selector
// nevertheless, so the endpoints controller overwrites their Endpoints.
func controlPlaneServices() []string { return []string{"kube-scheduler", "kube-controller-manager"} }

func endpointsReset() Scenario {
	return Scenario{
		Name:    "endpoints-reset",
		Summary: "the endpoints controller overwrites manually managed Endpoints of Services with a selector; a user also clears those of a Service without a selector (cause manual_write)",
		Reports: []Report{
			{"endpoints_controller", "service", "endpoints_reset", "kube-scheduler", "", "Remove the selector of Service kube-system/kube-scheduler"},
			{"endpoints_controller", "service", "endpoints_reset", "kube-controller-manager", "", "Remove the selector of Service kube-system/kube-controller-manager"},
			{"foreign_writer", "service", "manual_write", "database", "", "Find out who writes the addresses of Service shop/database"},
		},
		// No slice contains the overwritten addresses, because the Endpoints of a Service with a selector are not
		// mirrored.
		LossesBy:  "manual_write",
		Alerts:    endpointsResetAlerts(),
		ByRelease: true,
		Options:   cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare:   prepareEndpointsReset,
		Run: func(l *Lab) {
			overwriteBySelector(l)
			overwriteManually(l)
		},
	}
}

// endpointsResetAlerts returns one alert for each Service.
func endpointsResetAlerts() []Alert {
	alerts := []Alert{{
		Name: "KubeflapEndpointsOverwritten", Object: "Service shop/database",
		Remedy: "Find out who writes the addresses of Service shop/database",
	}}
	for _, name := range controlPlaneServices() {
		name = metav1.NamespaceSystem + "/" + name
		alerts = append(alerts, Alert{
			Name: "KubeflapEndpointsOverwritten", Object: "Service " + name,
			Says:   []string{"Verdict: endpoints controller"},
			Remedy: "Remove the selector of Service " + name,
		})
	}
	return alerts
}

func prepareEndpointsReset(l *Lab) {
	for _, name := range controlPlaneServices() {
		createService(l, metav1.NamespaceSystem, name, map[string]string{"k8s-app": name}) // in the original incident, no pod had this label
		// Wait until the controller has created empty Endpoints for the new Service. The controller would overwrite
		// addresses that were written before that.
		waitForEndpoints(l, metav1.NamespaceSystem, name)
	}
	createNamespace(l, "shop")
	makeManual(l, "database", "192.0.2.1", "192.0.2.2")
}

// makeManual creates a Service without a selector, with manually managed Endpoints.
func makeManual(l *Lab, name string, ips ...string) {
	createService(l, "shop", name, nil)
	writeEndpoints(l, "shop", name, ips...)
	l.waitForReadyAddresses("shop", name, len(ips))
}

const resets = "kubeflap_service_endpoints_resets_total"

// overwriteBySelector makes the endpoints controller overwrite manually managed addresses twice. To do so, it restarts
// the controller manager, and later changes the Services.
func overwriteBySelector(l *Lab) {
	applyByHand(l)
	l.Cluster.ControllerManager.Restart()
	l.waitForCountAtLeast(2, resets, "selector", "true")
	applyByHand(l)
	for _, name := range controlPlaneServices() {
		touchService(l, metav1.NamespaceSystem, name)
	}
	l.waitForCountAtLeast(4, resets, "selector", "true")
}

// applyByHand writes the addresses of both Services, as an administrator does with kubectl apply.
func applyByHand(l *Lab) {
	for _, name := range controlPlaneServices() {
		writeEndpoints(l, metav1.NamespaceSystem, name, "192.0.2.11", "192.0.2.12", "192.0.2.13")
	}
}

// overwriteManually empties, rewrites, deletes and recreates the Endpoints of a Service without a selector. The
// Service's slices are mirrored from these Endpoints.
func overwriteManually(l *Lab) {
	const namespace, name = "shop", "database"
	for i, empty := range []func(){
		func() { writeEndpoints(l, namespace, name) },
		func() { remove(l, l.Client.CoreV1().Endpoints(namespace), name) },
	} {
		empty()
		l.waitForCountAtLeast(float64(i+1), resets, "service", name, "selector", "false")
		l.waitForCountAtLeast(float64(i+1), truth.Outages, "service", name)
		writeEndpoints(l, namespace, name, "192.0.2.1", "192.0.2.2")
		l.waitForCount(2, addresses, "service", name, "state", "ready")
	}
}

// touchService changes an annotation of a Service, so that the controllers write its slices and Endpoints again.
func touchService(l *Lab, namespace, name string) {
	patchService(l, namespace, name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now()))
}
