package clustertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Pod is a pod of a Service.
type Pod struct {
	event.Pod
	service *Service
	ip      string
	started time.Time
}

// Start creates a pod on a node. The pod is not ready at first.
func (v *Service) Start(n *Node) *Pod {
	c := v.cluster
	c.serial++
	hash := v.hash()
	name := fmt.Sprintf("%s-%s-%05d", v.Name, hash, c.serial)
	p := &Pod{service: v, started: c.Now, ip: fmt.Sprintf("10.1.%d.%d", c.serial>>8, c.serial&255), Pod: event.Pod{
		Meta: Meta("pod", v.Namespace, name), Node: n.Name, Phase: "Running", Owner: "ReplicaSet/" + v.Name + "-" + hash, Labels: map[string]string{"app": v.Name},
		Ready:      &event.Condition{Status: event.StatusFalse, Reason: "ContainersNotReady", LastTransitionTime: c.Now},
		Containers: []event.Container{{Name: "app", Image: "app:1", ID: name + "/0", State: "running", Started: c.Now}}, ContainersReady: event.StatusFalse,
	}}
	p.ToleratesUnreachable = &event.Toleration{Seconds: 300}
	p.ToleratesNotReady = p.ToleratesUnreachable
	v.label(p)
	v.Pods = append(v.Pods, p)
	return p
}

// Serve makes a pod ready.
func (p *Pod) Serve() {
	p.Ready.Status, p.Ready.Reason, p.ContainersReady, p.Containers[0].Ready = event.StatusTrue, "", event.StatusTrue, true
}

// SetReady writes the Ready condition like the kubelet.
func (p *Pod) SetReady(to bool, reason string) {
	p.Ready.Status, p.Ready.Reason, p.Ready.LastTransitionTime = event.StatusFalse, reason, p.service.cluster.Now.Truncate(time.Second)
	if to {
		p.Serve()
		p.started = p.Ready.LastTransitionTime
	} else if reason == "ContainersNotReady" {
		p.ContainersReady, p.Containers[0].Ready = event.StatusFalse, false
	}
	p.changed()
}

func (p *Pod) recovers() { p.SetReady(true, "") }

// changed writes the pod. Soon after, the addresses follow.
func (p *Pod) changed() {
	p.service.cluster.Tell(event.Modified, &p.Pod)
	p.service.sync()
}

// mark makes a pod not ready like the node controller, which only changes Ready.
func (p *Pod) mark() {
	if p.Ready.Status != event.StatusTrue || !p.DeletionTimestamp.IsZero() {
		return
	}
	p.Ready.Status, p.Ready.LastTransitionTime = event.StatusFalse, p.service.cluster.Now.Truncate(time.Second)
	p.changed()
}

// exits restarts a container that exited for a reason, so that its pod is not ready: "OOMKilled 137", for example. If it
// exits again and again, it waits.
func (p *Pod) exits(reason string, waits bool) {
	c := &p.Containers[0]
	c.Restarts, c.ID, c.Started = c.Restarts+1, c.ID+"+", p.service.cluster.Now
	c.LastReason, c.LastExitCode = "", 0
	if reason != "-" { // as in old recordings
		_, _ = fmt.Sscan(reason, &c.LastReason, &c.LastExitCode)
	}
	if waits {
		c.State, c.Reason = "waiting", "CrashLoopBackOff"
	}
	p.SetReady(false, "ContainersNotReady")
}

// fails ends a pod as a kubelet does, for example because its node has a shortage.
func (p *Pod) fails(reason, message string) {
	p.SetReady(false, "PodFailed")
	p.service.cluster.After(10*time.Second, func() {
		p.Phase, p.Reason, p.Message = "Failed", reason, message
		p.changed()
	})
}

// quits ends a pod whose container exits and is not restarted, because of its restartPolicy.
func (p *Pod) quits(reason string) {
	c := &p.Containers[0]
	c.State, c.Ready, p.ContainersReady = "terminated", false, event.StatusFalse
	_, _ = fmt.Sscan(reason, &c.Reason, &c.ExitCode)
	p.SetReady(false, "PodFailed")
	p.service.cluster.After(time.Second, func() { p.Phase = "Failed"; p.changed() })
}

// isRejected fails like a pod that the kubelet does not admit: nothing is known of its containers.
func (p *Pod) isRejected(reason, message string) {
	p.Phase, p.Reason, p.Message, p.ContainersReady = "Failed", reason, "Pod was rejected: "+message, event.StatusUnknown
	*p.Ready = event.Condition{}
	p.Containers = []event.Container{{Name: p.Containers[0].Name, Image: p.Containers[0].Image}}
	p.changed()
}

// restart restarts a container that stopped with its machine.
func (p *Pod) restart() {
	if !slices.Contains(p.service.Pods, p) || !p.DeletionTimestamp.IsZero() || p.Phase == "Failed" {
		return
	}
	p.crash()
	p.service.cluster.After(p.service.cluster.Between(3, 8), func() {
		if p.DeletionTimestamp.IsZero() {
			p.recovers()
		}
	})
}

func (p *Pod) crash() { p.exits("Error 137", false) }

// stop deletes a pod, by an eviction if disruption is set. The pod disappears some seconds later.
func (p *Pod) stop(disruption string) {
	if !p.DeletionTimestamp.IsZero() {
		return
	}
	p.leaves(disruption)
	p.service.cluster.After(p.service.cluster.Between(2, 6), p.remove)
}

// leaves gives a pod a deletion timestamp.
func (p *Pod) leaves(disruption string) {
	p.DeletionTimestamp, p.Disruption = p.service.cluster.Now.Add(30*time.Second), disruption
	p.changed()
}

func (p *Pod) remove() {
	v := p.service
	if !slices.Contains(v.Pods, p) {
		return
	}
	v.Pods = slices.DeleteFunc(v.Pods, func(x *Pod) bool { return x == p })
	v.cluster.Tell(event.Deleted, &p.Pod)
	v.sync()
}

// replace starts another pod on the next schedulable node.
func (p *Pod) replace() {
	c := p.service.cluster
	at := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.Name == p.Node })
	if n := c.Nodes[c.schedulable(at)]; n.Name != p.Node {
		p.service.adds(n, func() {})
	}
}

// updates changes the image of a pod in place. The kubelet kills the container some seconds later. The pod is then not
// ready for away seconds.
func (p *Pod) updates(kill, away float64) {
	c := p.service.cluster
	p.Containers[0].Image += "+"
	c.Tell(event.Modified, &p.Pod)
	c.After(Seconds(kill), func() {
		p.crash()
		c.After(Seconds(away), p.recovers)
	})
}
