package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
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
		Pages:     endpointsResetPages(),
		Quiet:     []string{"KubeflapScrapeTargetsLost"},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 1, ControllerManagerPod: true},
		Prepare:   prepareEndpointsReset,
		Run: func(ctx context.Context, l *Lab) error {
			if err := l.overwriteBySelector(ctx); err != nil {
				return err
			}
			return l.overwriteManually(ctx)
		},
	}
}

// endpointsResetPages returns one page for each Service with a selector, and two for the Service shop/database.
func endpointsResetPages() []Page {
	var pages []Page
	for _, alert := range []string{"KubeflapEndpointsReset", "KubeflapServiceFlapping"} {
		pages = append(pages, Page{
			Alert: alert, Object: "Service shop/database",
			Says:   []string{"someone edited the addresses", "Let one writer replace the addresses"},
			Remedy: "Find out who writes the addresses of Service shop/database",
		})
	}
	for _, name := range controlPlaneServices() {
		name = metav1.NamespaceSystem + "/" + name
		pages = append(pages, Page{
			Alert: "KubeflapEndpointsReset", Object: "Service " + name,
			Says:   []string{"the endpoints controller overwrote manually managed addresses", "remove the selector of the Service"},
			Remedy: "Remove the selector of Service " + name,
		})
	}
	return pages
}

func prepareEndpointsReset(ctx context.Context, l *Lab) error {
	for _, name := range controlPlaneServices() {
		selector := map[string]string{"k8s-app": name} // in the original incident, no pod had this label
		if _, err := l.service(ctx, metav1.NamespaceSystem, name, selector); err != nil {
			return err
		}
		// Wait until the controller has created empty Endpoints for the new Service. The controller would overwrite
		// addresses that were written before that.
		err := poll.Until(ctx, patience, "Endpoints of "+name, func(ctx context.Context) error {
			_, err := l.Client.CoreV1().Endpoints(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return allOf(
		func() error { return l.namespace(ctx, "shop") },
		func() error { _, err := l.service(ctx, "shop", "database", nil); return err },
		func() error { return l.writeEndpoints(ctx, "shop", "database", "192.0.2.1", "192.0.2.2") },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "database", 2) },
	)
}

// overwriteBySelector makes the endpoints controller overwrite manually managed addresses twice. To do so, it restarts
// the controller manager, and later changes the Services.
func (l *Lab) overwriteBySelector(ctx context.Context) error {
	const resets = "kubeflap_service_endpoints_resets_total"
	return allOf(
		func() error { return l.applyByHand(ctx) },
		func() error { return l.scraped(ctx) },
		l.Cluster.ControllerManager.Restart,
		func() error { return l.waitForCountAtLeast(ctx, 2, resets, "selector", "true") },
		func() error { return l.applyByHand(ctx) },
		func() error {
			for _, name := range controlPlaneServices() {
				touch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now())
				if err := l.patchService(ctx, metav1.NamespaceSystem, name, touch); err != nil {
					return err
				}
			}
			return nil
		},
		func() error { return l.waitForCountAtLeast(ctx, 4, resets, "selector", "true") },
	)
}

// applyByHand writes the addresses of both Services, as an administrator does with kubectl apply.
func (l *Lab) applyByHand(ctx context.Context) error {
	for _, name := range controlPlaneServices() {
		if err := l.writeEndpoints(ctx, metav1.NamespaceSystem, name, "192.0.2.11", "192.0.2.12", "192.0.2.13"); err != nil {
			return err
		}
	}
	return nil
}

// scraped waits until Prometheus has scraped the manually managed addresses.
func (l *Lab) scraped(ctx context.Context) error {
	if l.Scraped == nil {
		return nil
	}
	for _, name := range controlPlaneServices() {
		if err := l.Scraped(ctx, metav1.NamespaceSystem, name); err != nil {
			return err
		}
	}
	return nil
}

// overwriteManually empties, rewrites, deletes and recreates the Endpoints of a Service without a selector. The
// Service's slices are mirrored from these Endpoints.
func (l *Lab) overwriteManually(ctx context.Context) error {
	const namespace, name = "shop", "database"
	const resets, outages = "kubeflap_service_endpoints_resets_total", "kubeflap_service_outages_total"
	write := func() error { return l.writeEndpoints(ctx, namespace, name, "192.0.2.1", "192.0.2.2") }
	back := func() error {
		return l.waitForCount(ctx, 2, "kubeflap_service_addresses", "service", name, "state", "ready")
	}
	return allOf(
		func() error { return l.writeEndpoints(ctx, namespace, name) },
		func() error { return l.waitForCountAtLeast(ctx, 1, resets, "service", name, "selector", "false") },
		func() error { return l.waitForCountAtLeast(ctx, 1, outages, "service", name) },
		write, back,
		func() error {
			return l.Client.CoreV1().Endpoints(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		func() error { return l.waitForCountAtLeast(ctx, 2, resets, "service", name, "selector", "false") },
		func() error { return l.waitForCountAtLeast(ctx, 2, outages, "service", name) },
		write, back,
	)
}

// writeEndpoints replaces the addresses of an Endpoints object, or creates the object.
func (s *Steps) writeEndpoints(ctx context.Context, namespace, name string, ips ...string) error {
	var subsets []corev1.EndpointSubset
	if len(ips) > 0 {
		subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "http", Port: 80}}}
		for _, ip := range ips {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
		subsets = append(subsets, subset)
	}
	client := s.Client.CoreV1().Endpoints(namespace)
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: subsets}
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else if err == nil {
		object.Subsets, object.ResourceVersion = subsets, ""
		_, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

// annotateEndpoints patches the metadata of an Endpoints object.
func (s *Steps) annotateEndpoints(ctx context.Context, namespace, name, patch string) error {
	_, err := s.Client.CoreV1().Endpoints(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
