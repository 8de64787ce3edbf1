package scenario

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
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
		Pages: []Page{{
			Alert: "KubeflapForeignAddresses", Object: "Service shop/web", Says: []string{"a manager that kubeflap accepts wrote these addresses"}, Remedy: "--endpoints.known-manager",
		}},
		Options: cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadReady(ctx, 2) },
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.writeSlice(ctx, "shop", "web", manager, foreign) },
				func() error { return l.webHas(ctx, 2+foreign, "ready") },
				func() error {
					return l.waitForReportedValue(ctx, foreign, "kubeflap_service_foreign_addresses", "namespace", "shop", "service", "web")
				},
			)
		},
	}
}

// writeSlice creates an EndpointSlice of a Service with the given manager. Nothing listens on its addresses.
func (s *Steps) writeSlice(ctx context.Context, namespace, service, manager string, addresses int) error {
	ready, port := true, int32(80)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: service + "-mesh",
			Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: manager},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	for i := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("192.0.2.%d", 1+i)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	_, err := s.Client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{FieldManager: "mesh"})
	return err
}
