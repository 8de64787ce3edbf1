package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// recipes is the directory of the recipes, relative to the lab's directory.
const recipes = "../docs/recipes"

// policyUpgrade is the batch upgrade with the admission policies of docs/recipes. With these policies, the controllers
// remove all pods of the batch in one update, so no client puts an address back.
func policyUpgrade() Scenario {
	return Scenario{
		Name:    "policy-upgrade",
		Summary: "the same batch upgrade, with admission policies that edit slices and Endpoints before they are stored: no address is put back",
		Reports: []Report{},
		// The API does not support these policies before v1.36.
		Options: cluster.Options{Release: cluster.Newest, Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return prepareBatchUpgrade(ctx, l) },
				func() error { return applyRecipes(ctx, l.Steps, "drained-slices.yaml", "drained-endpoints.yaml") },
			)
		},
		Run: runPolicyUpgrade,
	}
}

func runPolicyUpgrade(ctx context.Context, l *Lab) error {
	stopSlowly(l.Steps)
	clients := newBatchingClients()
	if err := clients.follow(ctx, l.Client, "shop", "web"); err != nil {
		return err
	}
	flips := func(to string) error {
		return l.waitForCount(ctx, batchSize, "kubeflap_service_address_flips_total", "service", "web", "to", to)
	}
	return allOf(
		clients.takeOut,
		func() error { return drainPods(ctx, l.Steps) },
		func() error { return poll.Sleep(ctx, takenOutFor) },
		func() error { return l.upgrade(ctx, "example.com/app:2") },
		func() error { return flips("not_ready") },
		func() error { return endpointsFollow(ctx, l.Steps) },
		func() error { return replaced(ctx, l.Steps, "example.com/app:2") },
		func() error { return undrainPods(ctx, l.Steps) },
		func() error { return flips("ready") },
		func() error { return clients.settled(ctx, replicas) },
		func() error {
			for _, made := range clients.readds() {
				if made.stale > 0 {
					return fmt.Errorf("the client with the window %s put %d addresses back", made.window, made.stale)
				}
			}
			return l.waitForReportedValue(ctx, 0, "kubeflap_service_stale_readds_total", "service", "web")
		},
	)
}

// applyRecipes applies files of docs/recipes without changes.
func applyRecipes(ctx context.Context, s *Steps, files ...string) error {
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(recipes, file))
		if err != nil {
			return err
		}
		manifests, err := cluster.Manifests(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := s.Cluster.Apply(ctx, "", manifests); err != nil {
			return err
		}
	}
	return nil
}

// drainPods creates the ConfigMap that lists the drained pods, and waits until the policies apply to them.
func drainPods(ctx context.Context, s *Steps) error {
	drained := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "drained"}, Data: map[string]string{}}
	for i := range batchSize {
		drained.Data[podName(i)] = ""
	}
	if _, err := s.Client.CoreV1().ConfigMaps("shop").Create(ctx, drained, metav1.CreateOptions{}); err != nil {
		return err
	}
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	touch := []byte(`{"metadata":{"annotations":{"touched":"x"}}}`)
	return poll.Until(ctx, patience, "the policies to take effect", func(ctx context.Context) error {
		list, err := s.Client.DiscoveryV1().EndpointSlices("shop").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		for _, slice := range list.Items {
			would, err := s.Client.DiscoveryV1().EndpointSlices("shop").Patch(ctx, slice.Name, types.MergePatchType, touch, options)
			if err != nil {
				return err
			}
			if ready := countReady(readinessOf(would)); ready != replicas-batchSize {
				return fmt.Errorf("slice %s would have %d ready addresses", slice.Name, ready)
			}
		}
		would, err := s.Client.CoreV1().Endpoints("shop").Patch(ctx, "web", types.MergePatchType, touch, options)
		if err != nil {
			return err
		}
		return batchIsOut(would)
	})
}

func batchIsOut(o *corev1.Endpoints) error {
	ready, notReady := 0, 0
	for _, subset := range o.Subsets {
		ready, notReady = ready+len(subset.Addresses), notReady+len(subset.NotReadyAddresses)
	}
	if ready != replicas-batchSize || notReady != batchSize {
		return fmt.Errorf("got %d ready addresses and %d others in Endpoints", ready, notReady)
	}
	return nil
}

func countReady(addresses map[string]bool) (n int) {
	for _, ready := range addresses {
		if ready {
			n++
		}
	}
	return n
}

// endpointsFollow waits until no pod of the batch has a ready address in the Endpoints object.
func endpointsFollow(ctx context.Context, s *Steps) error {
	return poll.Until(ctx, patience, "Endpoints without the batch", func(ctx context.Context) error {
		o, err := s.Client.CoreV1().Endpoints("shop").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return batchIsOut(o)
	})
}

// replaced waits until each pod of the batch is Ready with a new container.
func replaced(ctx context.Context, s *Steps, image string) error {
	return poll.Until(ctx, patience, "containers with the image "+image, func(ctx context.Context) error {
		for i := range batchSize {
			pod, err := s.Client.CoreV1().Pods("shop").Get(ctx, podName(i), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if statuses := pod.Status.ContainerStatuses; len(statuses) != 1 || !statuses[0].Ready || statuses[0].RestartCount == 0 {
				return errors.New(pod.Name + " still has its old container, or is not ready")
			}
		}
		return nil
	})
}

// undrainPods deletes the ConfigMap that lists the drained pods. No controller watches this ConfigMap. undrainPods
// therefore also changes the Service, so that the controllers write its slices and Endpoints again.
func undrainPods(ctx context.Context, s *Steps) error {
	if err := s.Client.CoreV1().ConfigMaps("shop").Delete(ctx, "drained", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "the addresses to be back", func(ctx context.Context) error {
		if err := s.patchService(ctx, "shop", "web", fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now())); err != nil {
			return err
		}
		list, err := s.Client.DiscoveryV1().EndpointSlices("shop").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if ready := countReady(readinessOf(&list.Items[i])); ready != replicas {
				return fmt.Errorf("slice %s has %d ready addresses", list.Items[i].Name, ready)
			}
		}
		return nil
	})
}
