package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// stillFor is the required time without writes. If a component sent a request just before it was paused, the request
// arrives within this time.
const stillFor = 500 * time.Millisecond

// withWritersPaused pauses the kubelets and the controller manager while the function do runs. If only the kubelets
// were paused, the controller manager would set the nodes to Unknown.
func (s *Session) withWritersPaused(ctx context.Context, do func() error) (err error) {
	writers := []*cluster.Process{s.Cluster.ControllerManager}
	for _, kubelet := range s.Cluster.Kubelets {
		writers = append(writers, kubelet)
	}
	for _, writer := range writers {
		if err := writer.Pause(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, writer.Resume()) }()
	}
	if err := standsStill(ctx, s.Cluster.Config); err != nil {
		return err
	}
	return do()
}

// standsStill waits until no object has changed for the duration stillFor.
func standsStill(ctx context.Context, config *rest.Config) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return poll.Until(ctx, patience, "all writes to the cluster to end", func(ctx context.Context) error {
		before, err := versions(ctx, client)
		if err != nil {
			return err
		}
		if err := poll.Sleep(ctx, stillFor); err != nil {
			return err
		}
		after, err := versions(ctx, client)
		if err == nil && !maps.Equal(before, after) {
			err = errors.New("an object was written")
		}
		return err
	})
}

// versions returns the resource versions of all objects that kubeflap watches, by the object's UID.
func versions(ctx context.Context, client metadata.Interface) (map[string]string, error) {
	all := map[string]string{}
	for resource, namespace := range map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "nodes"}:                                     "",
		{Version: "v1", Resource: "pods"}:                                      "",
		{Version: "v1", Resource: "services"}:                                  "",
		{Version: "v1", Resource: "endpoints"}:                                 "",
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}: "",
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:      corev1.NamespaceNodeLease,
	} {
		list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, object := range list.Items {
			all[string(object.UID)] = object.ResourceVersion
		}
	}
	return all, nil
}
