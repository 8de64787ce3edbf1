package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// overwrittenBefore reproduces the incident of overwritten Endpoints. kubeflap starts only after the Endpoints were
// overwritten.
func overwrittenBefore() Scenario {
	return Scenario{
		Name:    "overwritten-before",
		Summary: "manually managed Endpoints were overwritten before kubeflap started",
		Reports: []Report{{"endpoints_controller", "service", "endpoints_reset", "kube-scheduler", "", "Remove the selector of Service kube-system/kube-scheduler"}},
		Pages: []Page{{
			Alert: "KubeflapEndpointsReset", Object: "Service kube-system/kube-scheduler",
			Says:   []string{"were overwritten and have not been restored", "remove the selector of the Service"},
			Remedy: "Remove the selector of Service kube-system/kube-scheduler",
		}},
		Quiet:     []string{"KubeflapSelectorConflict"},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare:   prepareOverwrittenBefore,
		Run: func(ctx context.Context, l *Lab) error {
			return l.waitForReportedValue(ctx, 1, "kubeflap_service_selector_conflict", "namespace", metav1.NamespaceSystem, "service", "kube-scheduler")
		},
	}
}

// prepareOverwrittenBefore applies Endpoints as kubectl apply does. Then it makes the endpoints controller overwrite
// them.
func prepareOverwrittenBefore(ctx context.Context, l *Lab) error {
	const namespace, name = metav1.NamespaceSystem, "kube-scheduler"
	const applied = `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
		`"{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.11\"}]}]}"}}}`
	return allOf(
		func() error {
			_, err := l.service(ctx, namespace, name, map[string]string{"k8s-app": name})
			return err
		},
		func() error {
			return poll.Until(ctx, patience, "Endpoints of "+name, func(ctx context.Context) error {
				_, err := l.Client.CoreV1().Endpoints(namespace).Get(ctx, name, metav1.GetOptions{})
				return err
			})
		},
		func() error { return l.writeEndpoints(ctx, namespace, name, "192.0.2.11") },
		func() error { return l.annotateEndpoints(ctx, namespace, name, applied) },
		l.Cluster.ControllerManager.Restart,
		func() error { return l.emptied(ctx, namespace, name) },
	)
}

// emptied waits until an Endpoints object has no addresses.
func (s *Steps) emptied(ctx context.Context, namespace, name string) error {
	return poll.Until(ctx, patience, "empty Endpoints of "+name, func(ctx context.Context) error {
		o, err := s.Client.CoreV1().Endpoints(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(o.Subsets) > 0 {
			return fmt.Errorf("got addresses %v", addressesOf(o))
		}
		return nil
	})
}

func addressesOf(o *corev1.Endpoints) (all []string) {
	for _, subset := range o.Subsets {
		for _, address := range subset.Addresses {
			all = append(all, address.IP)
		}
	}
	return all
}
