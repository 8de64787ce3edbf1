package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Evidence that is late, contradicts itself, or looks like that of another cause.

func (s *story) onlyLoss(t *testing.T, want cause.Cause) {
	t.Helper()
	v := s.service("web")
	for c, n := range v.Losses {
		if cause.Cause(c) != want && n > 0 {
			t.Errorf("%d losses by %s, want %s", n, cause.Cause(c), want)
		}
	}
	if v.Losses[want] == 0 {
		t.Errorf("no loss by %s", want)
	}
}

func oldNode(beat float64) *event.Node {
	n := aNode("node-1", ready, -100)
	n.KubeletVersion = "v1.31.4"
	n.Ready.Heartbeat = clock(beat)
	return n
}

// A slow kubelet (off its beat all the time) posts its status as always every 5 minutes, or because an image was pulled.

func TestSlowKubeletIsNoRestart(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-250), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	for _, at := range []float64{13, 26, 39} {
		s.at(at).modified(lease("node-1", at))
	}
	s.at(50).modified(oldNode(50)) // 5 minutes after -250
	s.at(52).modified(lease("node-1", 52))
	s.at(70).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// A node is lost for the controller and comes back; 20 s later a probe fails.

func TestProbeAfterHeartbeatLoss(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-10), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	u := unknownSince("node-1", 42)
	u.KubeletVersion = "v1.31.4"
	u.Ready.Heartbeat = clock(-10)
	s.at(42).modified(u)
	s.at(60).modified(lease("node-1", 60))
	s.at(60.1).modified(oldNode(60))
	s.at(85).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// publishNotReadyAddresses is turned off while a pod has not been ready for a minute.

func TestPublishTurnedOff(t *testing.T) {
	pub := aService("web", true)
	pub.PublishNotReady = true
	node := aNode("node-1", ready, -100)
	s := newStory(t, grace40).starts(node, lease("node-1", 0), pub,
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(70).modified(aService("web", true))
	s.at(70.1).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ServiceChanged)
}

// Someone takes one of three addresses out of hand-written Endpoints of a Service with a selector: no controller does that.

func TestPartialHandEdit(t *testing.T) {
	s := newStory(t, Settings{AddressSource: event.KindEndpoints, BounceWindow: time.Minute})
	s.starts(aService("web", true), handWritten("web", "192.0.2.1", "192.0.2.2", "192.0.2.3"))
	s.at(10).modified(handWritten("web", "192.0.2.1", "192.0.2.2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ManualWrite)
}

func handSlice(name string, ready bool, ips ...string) *event.EndpointSlice {
	o := slice(name, "web")
	o.Owner, o.ManagedBy = event.UID{}, "someone.example.com"
	for _, ip := range ips {
		o.Addresses = append(o.Addresses, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: ready})
	}
	return o
}

// The endpointslice controller leaves slices alone that are not its own.

func TestHandMadeSliceOfServiceWithSelector(t *testing.T) {
	t.Run("turned not ready by its writer", func(t *testing.T) {
		s := webStory(t)
		s.added(handSlice("x", true, "192.0.2.1"))
		s.at(10).modified(handSlice("x", false, "192.0.2.1"))
		s.Advance(s.now.Add(lagWait))
		s.onlyLoss(t, cause.ManualWrite)
	})
	t.Run("deleted", func(t *testing.T) {
		s := webStory(t)
		s.added(handSlice("x", true, "192.0.2.1"))
		s.at(10).deleted(handSlice("x", true, "192.0.2.1"))
		s.Advance(s.now.Add(lagWait))
		s.onlyLoss(t, cause.ManualWrite)
		for _, x := range of[transition.EndpointsReset](s) {
			equal(t, "by the selector", x.BySelector, false)
		}
	})
}

// A selector is added to a Service with mirrored hand-written addresses; the slices' watch is ahead of the Services'.

func TestSelectorAddedAfterWipeSeen(t *testing.T) {
	m := slice("m", "web")
	m.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	full := slice("m", "web")
	full.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	full.Addresses = []event.Address{{UID: event.AddressUID("192.0.2.1"), IP: "192.0.2.1", ByHand: true, Ready: true}}
	s := newStory(t, Settings{BounceWindow: time.Minute})
	s.starts(aService("web", false), handWritten("web", "192.0.2.1"), full)
	s.at(10).deleted(full)
	s.at(10.02).modified(handWritten("web"))
	s.at(10.05).modified(aService("web", true))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.EndpointsReset)
}

// The watch of pods breaks while a pod is not ready; it recovers unseen, and is then deleted.

func TestPodWatchBroken(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(11).watch(event.Down, event.KindPod)
	s.at(20).modified(slice("a", "web", "web-1", "web-2"))
	s.at(30).modified(slice("a", "web", "~web-1", "web-2"))
	p := aPod("web-1", ready, running("app:1", 0))
	deleting(p)
	s.at(30.5).lists(event.KindPod, p, aPod("web-2", ready, running("app:1", 0)))
	s.Advance(s.now.Add(lagWait))
	v := s.service("web")
	equal(t, "probe_failed", v.Losses[cause.ProbeFailed], 1)
	equal(t, "pod_deleted", v.Losses[cause.PodDeleted], 1)
}

// The eviction was refused after DisruptionTarget was written (a webhook): the pod runs on, and its probe fails.

func TestEvictionRefused(t *testing.T) {
	s := webStory(t).at(10).modified(aPodDisrupted())
	s.at(60).modified(unready("ContainersNotReady", disrupted("EvictionByEvictionAPI"))).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

func aPodDisrupted() *event.Pod {
	p := aPod("web-1", ready, running("app:1", 0))
	p.Disruption = "EvictionByEvictionAPI"
	return p
}

// In place update, done and Ready again; a minute later the new container crashes.

func TestCrashAfterInPlaceUpdateDone(t *testing.T) {
	img := func(p *event.Pod) { p.Containers[0].Image = "app:2" }
	s := webStory(t).at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(12).modified(unready("ContainersNotReady", container1("terminated", "Completed", 0), img)).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(16).modified(aPod("web-1", ready, running("app:2", 1))).modified(slice("a", "web", "web-1", "web-2"))
	s.at(90).modified(unready("ContainersNotReady", container1("terminated", "OOMKilled", 1), img)).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	v := s.service("web")
	equal(t, "inplace", v.Losses[cause.InPlaceUpdate], 1)
	equal(t, "exit", v.Losses[cause.ContainerExit], 1)
}

// A pod is relabelled out of the Service; it was the last of its slice, which the controller deletes.

func TestRelabelledLastOfSlice(t *testing.T) {
	s := webStory(t)
	s.added(aPod("web-3", ready, running("app:1", 0)), slice("b", "web", "web-3"))
	s.at(10).modified(aPod("web-3", ready, running("app:1", 0)))
	s.at(10.1).deleted(slice("b", "web", "web-3"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.Unknown)
}

// A pod whose deadline passed (activeDeadlineSeconds): the kubelet kills it; PodFailed while it runs.

// Node NotReady by its kubelet for an hour (disk), then a probe fails.

func TestNodeNotReadyLongAgo(t *testing.T) {
	s := webStory(t).at(10).modified(aNode("node-1", notReady, 10))
	s.at(3610).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// One container of two crashed and is back, the pod is ready; a second later (by the kubelet's clock) nothing; LTT restored to long ago.

func TestSidecarRestartThenProbe(t *testing.T) {
	s := webStory(t)
	s.at(3).modified(aPod("web-1", ready, running("app:1", 1)))
	s.at(600).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) {
		p.Containers[0].Started, p.Ready.Transition = clock(3), clock(-5000)
	})).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// Deleted by hand, and during the grace period the kubelet evicts.

func TestDeletedThenEvicted(t *testing.T) {
	p := aPod("web-1", ready, running("app:1", 0))
	deleting(p)
	s := webStory(t).at(10).modified(p).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(15).modified(unready("PodFailed", phase("Failed", "Evicted"), deleting, disrupted("TerminationByKubelet")))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodDeleted)
	equal(t, "transitions by deleted", s.inShop().Transitions[notReady][cause.PodDeleted], 1)
}

// A pod marked by the node controller stays so; its Service's slice is then seen; then it is deleted.

func TestNodeLostSliceBeforeAll(t *testing.T) {
	s := webStory(t)
	s.at(50).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(50.1).modified(unready("", containersReady))
	s.at(50.4).modified(unknownSince("node-1", 50))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// The node is lost, the taint manager evicts after tolerationSeconds: one loss, by heartbeat.

func TestNodeLostThenEvicted(t *testing.T) {
	s := webStory(t)
	s.at(50).modified(unknownSince("node-1", 50)).modified(unready("", containersReady)).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(350).modified(unready("", containersReady, deleting, disrupted("DeletionByTaintManager"))).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(351).deleted(unready("", containersReady, deleting)).modified(slice("a", "web", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// Node deleted (scale-down of the cluster): the slice controller drops the pods of a missing node before pod GC deletes them.

// A liveness probe kills: terminated (137) with Ready still True first, then a new container.

func TestLiveness(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) { p.Containers[0].ID = "new" })).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// A gate goes False and the pod is deleted 200 ms later (a controller that drains first): the loss is the gate's.

func TestGateThenDelete(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ReadinessGatesNotReady", containersReady))
	s.at(10.1).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting))
	s.at(10.3).modified(slice("a", "web", "~web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ReadinessGate)
}

// The same with the slices' watch behind by 300 ms.

func TestGateThenDeleteSliceLate(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ReadinessGatesNotReady", containersReady))
	s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting))
	s.at(10.3).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.31).modified(slice("a", "web", "~web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ReadinessGate)
}

// A pod fails its probe and is back within 100 ms; the slices' events come after both of the pod's.

func TestQuickFlapSliceLate(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(10.1).modified(aPod("web-1", ready, running("app:1", 0)))
	s.at(10.15).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.2).modified(slice("a", "web", "web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// The Service changes its port (not its choice) and at the same time nothing; selector changes and a pod crashes 3 s later.

func TestSelectorChangedWhileCrash(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "web", "v": "2"}
	s := webStory(t).at(10).modified(other)
	s.at(12).modified(unready("ContainersNotReady", container1("terminated", "Error", 0))).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// A selector is changed; the controller is slow (throttled): the addresses go 8 s later.

func TestSelectorSlowController(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "other"}
	s := webStory(t).at(10).modified(other)
	s.at(18).modified(slice("a", "web"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ServiceChanged)
}

// Outage cause when two addresses of different causes go in one write: stable?

// A Job's pod behind a Service: completes, and is deleted by the TTL a second later before the slice is seen.

func TestJobTTL(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("PodCompleted", phase("Succeeded", "")))
	s.at(10.1).modified(unready("PodCompleted", phase("Succeeded", ""), deleting)).deleted(unready("PodCompleted", phase("Succeeded", ""), deleting))
	s.at(10.2).modified(slice("a", "web", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodCompleted)
}

// One container of a Never pod ended well, the other runs on: not completed yet.

// All watches break and relist in the middle: pod was restarted meanwhile and is not ready.

func TestRelistAll(t *testing.T) {
	s := webStory(t)
	s.at(10).watch(event.Down, event.KindPod, event.KindEndpointSlice)
	s.at(40).lists(event.KindEndpointSlice, slice("a", "web", "-web-1", "web-2"))
	s.at(40.5).lists(event.KindPod, unready("ContainersNotReady", container1("waiting", "CrashLoopBackOff", 3)), aPod("web-2", ready, running("app:1", 0)))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// The pods' list takes 3 s longer than that of the slices (a large cluster).

// Deleted while the watch was broken: gone from the list, never seen with a deletion.

// Endpoints deleted by hand (source Endpoints); the controller writes them anew within 20 ms.

func TestEndpointsDeleted(t *testing.T) {
	eps := func(addresses ...string) *event.Endpoints {
		o := &event.Endpoints{Meta: event.Meta{UID: id("endpoints/web"), Namespace: "shop", Name: "web"}, Writer: "kube-controller-manager"}
		o.Addresses = slice("a", "web", addresses...).Addresses
		return o
	}
	s := newStory(t, Settings{AddressSource: event.KindEndpoints, BounceWindow: time.Minute})
	s.starts(aNode("node-1", ready, -100), aService("web", true), aPod("web-1", ready), aPod("web-2", ready), eps("web-1", "web-2"))
	s.at(10).deleted(eps("web-1", "web-2"))
	s.at(10.02).added(eps("web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ManualWrite)
}

// A stranger writes the slice again and again: the first seen writer was he.

// Kubelet v1.31 restarts and the pod is not ready: Ready turns before the Lease's renewal is seen.

func TestKubeletRestartPodFirst(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-10), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(lease("node-1", 10))
	s.at(15).modified(oldNode(15))
	s.at(15.1).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(15.3).modified(lease("node-1", 15.3))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.KubeletRestart)
}

// Two restarts within a minute of one pod watch; a loss with the departed pod's name reused.

func TestScaleToZeroAndUp(t *testing.T) {
	s := webStory(t)
	d := func(n string) *event.Pod { p := aPod(n, ready, running("app:1", 0)); deleting(p); return p }
	s.at(10).modified(d("web-1"), d("web-2")).modified(slice("a", "web", "~web-1", "~web-2"))
	s.at(12).deleted(d("web-1"), d("web-2")).modified(slice("a", "web"))
	s.at(15).added(aPod("web-3", notReady)).modified(slice("a", "web", "-web-3"))
	s.at(16).modified(aPod("web-3", ready)).modified(slice("a", "web", "web-3"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodDeleted)
	equal(t, "outages", s.service("web").Outages, 1)
}

// A Service that is created while kubeflap watches: its slice begins as a placeholder without endpoints, which nobody has written.

// From then on the controller's own writes count as someone else's.

func TestPlaceholderHasNoWriter(t *testing.T) {
	w := func(writer string, addresses ...string) *event.EndpointSlice {
		o := slice("a", "web", addresses...)
		o.Writer = writer
		return o
	}
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0))
	s.at(1).added(aService("web", true), w(""))
	s.at(2).added(aPod("web-1", ready), aPod("web-2", ready)).modified(w("kube-controller-manager", "web-1", "web-2"))
	// Much later the controller takes one out for what kubeflap cannot tell, e.g. its pod's labels changed.
	s.at(600).modified(aPod("web-1", ready)).modified(w("kube-controller-manager", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.Unknown)
}

// Namespace deletion: Endpoints and mirrored slices go before the Service does.

func TestNamespaceDeleted(t *testing.T) {
	full := slice("m", "web")
	full.ManagedBy, full.Owner = "endpointslicemirroring-controller.k8s.io", event.UID{}
	full.Addresses = []event.Address{{UID: event.AddressUID("192.0.2.1"), IP: "192.0.2.1", ByHand: true, Ready: true}}
	s := newStory(t, Settings{BounceWindow: time.Minute})
	s.starts(aService("web", false), handWritten("web", "192.0.2.1"), full)
	s.at(10).deleted(handWritten("web", "192.0.2.1"))
	s.at(10.01).deleted(full)
	s.at(10.1).deleted(aService("web", false))
	s.Advance(s.now.Add(lagWait))
	for _, x := range s.transitions() {
		switch x.(type) {
		case transition.OutageStarted, transition.AddressLost, transition.AddressRemoved:
			t.Errorf("found: %s", x)
		}
	}
}

// Node not ready by its own kubelet; the pod's event is seen 100 ms before the node's.

func TestNodeNotReadyPodFirst(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(10.1).modified(aNode("node-1", notReady, 10)).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeNotReady)
}

// An image is changed in place; the pod's own kubelet reports the restart, and much later (100 s) the node's heartbeat is lost.

func TestInPlaceThenNodeLost(t *testing.T) {
	s := webStory(t).at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(60).modified(unknownSince("node-1", 60))
	s.modified(unready("", containersReady, func(p *event.Pod) { p.Containers[0].Image = "app:2" })).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// An image is changed in place; then a gate that has nothing to do with it, 100 s after the new container was ready.

// In place resize/update of one container of a pod (sidecar image), the main container fails its probe.

// Evicted by the kubelet (pressure) while publishNotReadyAddresses: the address goes when the pod has failed.

func TestEvictedPublished(t *testing.T) {
	pub := aService("web", true)
	pub.PublishNotReady = true
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0), pub,
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)), slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(300).modified(unready("PodFailed", phase("Failed", "Evicted"), disrupted("TerminationByKubelet")))
	s.at(300.1).modified(slice("a", "web", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodEvicted)
}

// publishNotReadyAddresses, the pod not ready for long; then the selector changes.

func TestPublishedReselected(t *testing.T) {
	pub := aService("web", true)
	pub.PublishNotReady = true
	other := aService("web", true)
	other.PublishNotReady, other.Selector = true, map[string]string{"app": "other"}
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0), pub,
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)), slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(300).modified(other).modified(slice("a", "web"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ServiceChanged)
}

// A pod in two Services, one of which publishes: the probe fails; only one loses.

func TestTwoServices(t *testing.T) {
	s := webStory(t)
	s.added(aService("two", true), slice("b", "two", "web-1"))
	s.at(10).modified(slice("b", "two", "-web-1"))
	s.at(10.2).modified(unready("ContainersNotReady", container1("terminated", "Error", 0)))
	s.at(10.4).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
	equal(t, "of two", s.service("two").Losses[cause.ContainerExit], 1)
}

// Lease watch down, then renewals come in late: no kubelet restart.

func TestLeaseWatchBreak(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-200), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)), slice("a", "web", "web-1", "web-2"))
	s.at(5).watch(event.Down, event.KindLease)
	s.at(45).lists(event.KindLease, lease("node-1", 40))
	s.at(46).modified(oldNode(46))
	s.at(50.2).modified(lease("node-1", 50.2))
	s.at(55).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// The node's clock is stepped by 3 s (NTP) just when the 5-minute status is posted.

func TestClockStep(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-280), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)), slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(lease("node-1", 10))
	s.at(20).modified(oldNode(20))
	s.at(20.1).modified(lease("node-1", 23.1))
	s.at(40).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}
