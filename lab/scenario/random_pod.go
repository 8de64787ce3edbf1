package scenario

import "fmt"

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
