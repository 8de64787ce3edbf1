package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type chaosPod struct {
	name     string
	ready    bool
	restarts int
	images   int
	// dying is true if the pod is terminating.
	dying bool
}

// apps returns the values of the label by which Services select pods.
func apps() []string { return []string{"red", "green", "blue", "white"} }

// addPod creates a pod, and sets its status to running, as its kubelet would.
func (c *chaos) addPod() {
	pod := &chaosPod{name: fmt.Sprintf("pod-%d", c.next()), ready: !c.chance(4)}
	createPod(c.Lab, newPod(chaosNamespace, pod.name, pick(c, c.nodes).name, pick(c, apps())))
	c.pods = append(c.pods, pod)
	ip := c.address()
	status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%[1]q,"podIPs":[{"ip":%[1]q}],"conditions":[%[2]s],"containerStatuses":[%[3]s]}}`,
		ip, pod.condition(), pod.container())
	patchPod(c.Lab, chaosNamespace, pod.name, status, "status")
}

func (p *chaosPod) condition() string {
	return fmt.Sprintf(`{"type":"Ready","status":%q,"lastTransitionTime":%s}`, statusOf(p.ready), now())
}

func (p *chaosPod) container() string {
	return fmt.Sprintf(`{"name":%q,"ready":%t,"restartCount":%d,"image":"x","imageID":"x","state":{"running":{}}}`,
		container, p.ready, p.restarts)
}

// flipPod changes the readiness of a pod.
func (c *chaos) flipPod() {
	pod := pick(c, c.pods)
	pod.ready = !pod.ready
	patchPod(c.Lab, chaosNamespace, pod.name, fmt.Sprintf(`{"status":{"conditions":[%s]}}`, pod.condition()), "status")
}

// restartContainer restarts the container of a pod. Sometimes it also changes the readiness. A restart counts as silent
// only if the pod stays Ready.
func (c *chaos) restartContainer() {
	pod := pick(c, c.pods)
	pod.restarts++
	if c.chance(3) {
		pod.ready = !pod.ready
	}
	status := fmt.Sprintf(`{"status":{"conditions":[%s],"containerStatuses":[%s]}}`, pod.condition(), pod.container())
	patchPod(c.Lab, chaosNamespace, pod.name, status, "status")
}

func (c *chaos) changeImage() {
	pod := pick(c, c.pods)
	pod.images++
	setImage(c.Lab, chaosNamespace, pod.name, fmt.Sprintf("example.com/app:%d", pod.images+1))
}

// relabelPod changes the label by which Services select a pod.
func (c *chaos) relabelPod() {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, pick(c, apps()))
	patchPod(c.Lab, chaosNamespace, pick(c, c.pods).name, patch)
}

// removePod deletes a pod. In half of the cases, the pod first terminates, and a later step deletes it completely.
func (c *chaos) removePod() {
	const least = 20
	if len(c.pods) < least {
		return
	}
	i := c.random.IntN(len(c.pods))
	pod := c.pods[i]
	if !pod.dying && c.chance(2) {
		pod.dying = true
		deletePod(c.Lab, chaosNamespace, pod.name, 30)
		return
	}
	c.pods = append(c.pods[:i], c.pods[i+1:]...)
	deletePod(c.Lab, chaosNamespace, pod.name, 0)
}

type chaosNode struct {
	name  string
	ready corev1.ConditionStatus
	// behind is the time by which the node's clock is slow.
	behind time.Duration
	// posted and renewed are the times of the last writes of the node's status and of its Lease.
	posted, renewed time.Time
}

func (c *chaos) makeNode(node *chaosNode) {
	node.ready = corev1.ConditionTrue
	createNode(c.Lab, node.name)
	node.posted, node.renewed = time.Now(), time.Now()
}

// post writes a node's status. It first waits until every watcher has seen the latest renewal of the node's Lease.
func (c *chaos) post(node *chaosNode, condition string) {
	c.waitUntilSeen(node.renewed)
	node.posted = time.Now()
	patchNode(c.Lab, node.name, condition)
}

// flipNode changes the status of a node's Ready condition, or removes the condition.
func (c *chaos) flipNode() {
	node := pick(c, c.nodes)
	others := []corev1.ConditionStatus{}
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
		if status != node.ready {
			others = append(others, status)
		}
	}
	node.ready = pick(c, others)
	if node.ready == corev1.ConditionUnknown && c.chance(2) {
		c.post(node, `{"$patch":"delete","type":"Ready"}`)
		return
	}
	c.post(node, readyAs(node.ready))
}

// heartbeat renews a node's Lease or posts its status. Sometimes it first sets the node's clock back. The node
// controller does not count a renewal with an earlier time.
func (c *chaos) heartbeat() {
	node := pick(c, c.nodes)
	if c.chance(10) {
		node.behind = time.Duration(c.random.IntN(60)) * time.Second
	}
	if c.chance(4) && node.ready == corev1.ConditionTrue {
		stamp, _ := metav1.NewTime(node.clock()).MarshalJSON()
		c.post(node, fmt.Sprintf(`{"type":"Ready","lastHeartbeatTime":%s}`, stamp))
		return
	}
	c.waitUntilSeen(node.posted)
	node.renewed = time.Now()
	renewLease(c.Lab, node.name, node.clock())
}

// recreateNode deletes a node and its Lease. It creates them again when every watcher has seen both deletions.
func (c *chaos) recreateNode() {
	node := pick(c, c.nodes)
	c.waitUntilSeen(node.renewed)
	remove(c.Lab, c.Client.CoreV1().Nodes(), node.name)
	// The garbage collector may have deleted the Lease already.
	err := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(c.Ctx, node.name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		c.Must(err)
	}
	c.waitUntilSeen(time.Now())
	node.behind = 0
	c.makeNode(node)
}
