package scenario

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// foreignSlice simulates a tool that writes its own slice for a Service with a selector. The tool does not remove
// addresses on which nothing listens.
func foreignSlice() Scenario {
	const foreign, manager = 2, "mesh.example.com"
	return Scenario{
		Name:    "foreign-slice",
		Summary: "a foreign EndpointSlice adds dead addresses to a Service with a selector",
		Reports: []Report{{
			"foreign_writer", "service", "manual_write", "web", "EndpointSlice web-mesh (managed by " + manager + ")", "--endpoints.known-manager",
		}},
		Advised: []string{"foreign addresses: shop/web"},
		Alerts: []Alert{{
			Name: "KubeflapEndpointsWrong", Object: "shop/web", Says: []string{"foreign"}, Remedy: "--endpoints.known-manager",
		}},
		Options: cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare: func(l *Lab) { spreadReady(l, 2) },
		Run: func(l *Lab) {
			addSlice(l, manager, foreign)
			l.webHas(2+foreign, "ready")
			l.waitForReportedValue(foreign, "kubeflap_service_addresses_wrong", "namespace", "shop", "service", "web", "kind", "foreign")
		},
	}
}

// addSlice creates an EndpointSlice of the Service "web" with the given manager. Nothing listens on its addresses.
func addSlice(l *Lab, manager string, addresses int) {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-mesh",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: manager},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: new(int32(80))}},
	}
	for i := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("192.0.2.%d", 1+i)}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	steps.Value(l.Client.DiscoveryV1().EndpointSlices("shop").Create(l.Ctx, slice, metav1.CreateOptions{FieldManager: "mesh"}))
}
