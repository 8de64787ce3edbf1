package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type chaosNode struct {
	name  string
	ready corev1.ConditionStatus
	// behind is the time by which the node's clock is slow.
	behind time.Duration
	// posted and renewed are the times of the last writes of the node's status and of its Lease.
	posted, renewed time.Time
}

func (c *chaos) makeNode(ctx context.Context, node *chaosNode) error {
	node.ready = corev1.ConditionTrue
	err := c.createNode(ctx, node.name)
	node.posted, node.renewed = time.Now(), time.Now()
	return err
}

// post writes a node's status. It first waits until every watcher has seen the latest renewal of the node's Lease.
func (c *chaos) post(ctx context.Context, node *chaosNode, condition string) error {
	if err := c.waitUntilSeen(ctx, node.renewed); err != nil {
		return err
	}
	node.posted = time.Now()
	return c.patchNode(ctx, node.name, condition)
}

func (c *chaos) renew(ctx context.Context, node *chaosNode) error {
	if err := c.waitUntilSeen(ctx, node.posted); err != nil {
		return err
	}
	node.renewed = time.Now()
	return c.renewLease(ctx, node.name, node.clock())
}

// flipNode changes the status of a node's Ready condition, or removes the condition.
func (c *chaos) flipNode(ctx context.Context) error {
	node := pick(c, c.nodes)
	others := []corev1.ConditionStatus{}
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
		if status != node.ready {
			others = append(others, status)
		}
	}
	node.ready = pick(c, others)
	if node.ready == corev1.ConditionUnknown && c.chance(2) {
		return c.post(ctx, node, `{"$patch":"delete","type":"Ready"}`)
	}
	return c.post(ctx, node, readyAs(node.ready))
}

// heartbeat renews a node's Lease or posts its status. Sometimes it first sets the node's clock back. The node
// controller does not count a renewal with an earlier time.
func (c *chaos) heartbeat(ctx context.Context) error {
	node := pick(c, c.nodes)
	if c.chance(10) {
		node.behind = time.Duration(c.random.IntN(60)) * time.Second
	}
	if c.chance(4) && node.ready == corev1.ConditionTrue {
		stamp, _ := metav1.NewTime(node.clock()).MarshalJSON()
		return c.post(ctx, node, fmt.Sprintf(`{"type":"Ready","lastHeartbeatTime":%s}`, stamp))
	}
	return c.renew(ctx, node)
}

// recreateNode deletes a node and its Lease. It creates them again when every watcher has seen both deletions.
func (c *chaos) recreateNode(ctx context.Context) error {
	node := pick(c, c.nodes)
	if err := c.waitUntilSeen(ctx, node.renewed); err != nil {
		return err
	}
	leases := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := c.Client.CoreV1().Nodes().Delete(ctx, node.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	// The garbage collector may have deleted the Lease already.
	if err := leases.Delete(ctx, node.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := c.waitUntilAllSeen(ctx); err != nil {
		return err
	}
	node.behind = 0
	return c.makeNode(ctx, node)
}
