package permissions

import (
	"errors"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// TestNeededResources checks the required permissions. The tests of exporter/watch cover errors and waiting in virtual
// time.
func TestNeededResources(t *testing.T) {
	for _, c := range []struct {
		name          string
		lacking       []event.Kind
		nodesOptional bool
		ok            bool
	}{
		{"nothing is missing", nil, false, true},
		{"Leases are optional", []event.Kind{event.KindLease}, false, true},
		{"nodes are needed", []event.Kind{event.KindNode}, false, false},
		{"nodes are optional for one namespace", []event.Kind{event.KindNode}, true, true},
		{"pods are needed", []event.Kind{event.KindPod}, true, false},
		{"Services are needed", []event.Kind{event.KindService}, true, false},
		{"Endpoints replace slices", []event.Kind{event.KindEndpointSlice}, false, true},
		{"slices replace Endpoints", []event.Kind{event.KindEndpoints}, false, true},
		{"one of both is needed", []event.Kind{event.KindEndpointSlice, event.KindEndpoints}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []Access
			for _, kind := range event.Kinds() {
				a := Access{Resource: apiclient.Resource{Kind: kind}}
				for _, lacking := range c.lacking {
					if kind == lacking {
						a.refused, a.refusal = []string{"watch"}, errors.New("forbidden")
					}
				}
				all = append(all, a)
			}
			if err := missing(all, c.nodesOptional); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
