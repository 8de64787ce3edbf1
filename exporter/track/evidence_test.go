package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// In these tests the evidence is late, contradicts itself, or resembles the evidence for another cause.

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
	n.Ready.LastHeartbeatTime = clock(beat)
	return n
}

// TestSlowKubeletIsNoRestart covers a slow kubelet that always renews late. Its status report, every 5 minutes or after
// an image pull, is not a restart.
func TestSlowKubeletIsNoRestart(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-250), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	for _, at := range []float64{13, 26, 39} {
		s.at(at).modified(lease("node-1", at))
	}
	s.at(50).modified(oldNode(50)) // this is 5 minutes after -250 s
	s.at(52).modified(lease("node-1", 52))
	s.at(70).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// TestProbeAfterHeartbeatLoss covers a probe that fails 25 s after a lost node has returned.
func TestProbeAfterHeartbeatLoss(t *testing.T) {
	s := newStory(t, grace40).starts(oldNode(-10), lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
	u := unknownSince("node-1", 42)
	u.KubeletVersion = "v1.31.4"
	u.Ready.LastHeartbeatTime = clock(-10)
	s.at(42).modified(u)
	s.at(60).modified(lease("node-1", 60))
	s.at(60.1).modified(oldNode(60))
	s.at(85).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// TestPublishTurnedOff turns publishNotReadyAddresses off after a pod has been unready for a minute.
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

// TestPartialHandEdit removes one of three addresses from manually managed Endpoints of a Service with a selector,
// which no controller does.
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

// TestHandMadeSliceOfServiceWithSelector covers a slice of another writer, which the EndpointSlice controller does not
// change.
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

// TestSelectorAddedAfterWipeSeen adds a selector to a Service with mirrored manual addresses, while the slice watch is
// ahead of the Service watch.
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

// TestPodWatchBroken breaks the pod watch while a pod is not ready. The pod recovers unseen and is then deleted.
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

// TestEvictionRefused covers a webhook that rejects the eviction after DisruptionTarget was written. The pod keeps
// running, and its probe fails.
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

// TestCrashAfterInPlaceUpdateDone crashes the new container one minute after an in-place update has completed.
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

// TestRelabelledLastOfSlice changes a label, so that the pod leaves the Service. It was the last pod in its slice, so
// the controller deletes the slice.
func TestRelabelledLastOfSlice(t *testing.T) {
	s := webStory(t)
	s.added(aPod("web-3", ready, running("app:1", 0)), slice("b", "web", "web-3"))
	s.at(10).modified(aPod("web-3", ready, running("app:1", 0)))
	s.at(10.1).deleted(slice("b", "web", "web-3"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.Unknown)
}

// TestNodeNotReadyLongAgo covers a probe that fails after the kubelet has reported a full disk and Ready=False for an
// hour.
func TestNodeNotReadyLongAgo(t *testing.T) {
	s := webStory(t).at(10).modified(aNode("node-1", notReady, 10))
	s.at(3610).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// TestSidecarRestartThenProbe covers a probe that fails ten minutes after a container restarted while the pod stayed
// Ready, so that lastTransitionTime is older than the restart.
func TestSidecarRestartThenProbe(t *testing.T) {
	s := webStory(t)
	s.at(3).modified(aPod("web-1", ready, running("app:1", 1)))
	s.at(600).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) {
		p.Containers[0].Started, p.Ready.LastTransitionTime = clock(3), clock(-5000)
	})).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// TestDeletedThenEvicted covers a deleted pod that the kubelet evicts during the termination grace period.
func TestDeletedThenEvicted(t *testing.T) {
	p := aPod("web-1", ready, running("app:1", 0))
	deleting(p)
	s := webStory(t).at(10).modified(p).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(15).modified(unready("PodFailed", phase("Failed", "Evicted"), deleting, disrupted("TerminationByKubelet")))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodDeleted)
	equal(t, "transitions by deleted", s.inShop().Transitions[notReady][cause.PodDeleted], 1)
}

// TestNodeLostSliceBeforeAll loses a node. The events arrive in the order slice, pod, node.
func TestNodeLostSliceBeforeAll(t *testing.T) {
	s := webStory(t)
	s.at(50).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(50.1).modified(unready("", containersReady))
	s.at(50.4).modified(unknownSince("node-1", 50))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// TestNodeLostThenEvicted checks that a pod on a lost node is only one loss, with the cause node_heartbeat_lost, if the
// pod is evicted after tolerationSeconds.
func TestNodeLostThenEvicted(t *testing.T) {
	s := webStory(t)
	s.at(50).modified(unknownSince("node-1", 50)).modified(unready("", containersReady)).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(350).modified(unready("", containersReady, deleting, disrupted("DeletionByTaintManager"))).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(351).deleted(unready("", containersReady, deleting)).modified(slice("a", "web", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// TestLiveness covers a container that the kubelet replaces after its liveness probe failed.
func TestLiveness(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) { p.Containers[0].ID = "new" })).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// TestGateThenDelete checks that the readiness gate is the cause of the loss if a controller sets it to False and
// deletes the pod 200 ms later.
func TestGateThenDelete(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ReadinessGatesNotReady", containersReady))
	s.at(10.1).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting))
	s.at(10.3).modified(slice("a", "web", "~web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ReadinessGate)
}

// TestGateThenDeleteSliceLate is TestGateThenDelete with a slice watch that is 300 ms late.
func TestGateThenDeleteSliceLate(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ReadinessGatesNotReady", containersReady))
	s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting))
	s.at(10.3).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.31).modified(slice("a", "web", "~web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ReadinessGate)
}

// TestQuickFlapSliceLate covers a probe that fails and succeeds within 100 ms. The slice's events arrive after both pod
// events.
func TestQuickFlapSliceLate(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(10.1).modified(aPod("web-1", ready, running("app:1", 0)))
	s.at(10.15).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(10.2).modified(slice("a", "web", "web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ProbeFailed)
}

// TestSelectorChangedWhileCrash changes a Service's selector. A pod crashes 2 s later.
func TestSelectorChangedWhileCrash(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "web", "v": "2"}
	s := webStory(t).at(10).modified(other)
	s.at(12).modified(unready("ContainersNotReady", container1("terminated", "Error", 0))).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// TestSelectorSlowController covers a throttled controller that removes the addresses 8 s after a selector change.
func TestSelectorSlowController(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "other"}
	s := webStory(t).at(10).modified(other)
	s.at(18).modified(slice("a", "web"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ServiceChanged)
}

// TestJobTTL covers a Job's pod behind a Service. It completes, and the TTL controller deletes it before the slice's
// event arrives.
func TestJobTTL(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("PodCompleted", phase("Succeeded", "")))
	s.at(10.1).modified(unready("PodCompleted", phase("Succeeded", ""), deleting)).deleted(unready("PodCompleted", phase("Succeeded", ""), deleting))
	s.at(10.2).modified(slice("a", "web", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodCompleted)
}

// TestRelistAll breaks the watches of pods and slices. When they list again, a pod has restarted and is unready.
func TestRelistAll(t *testing.T) {
	s := webStory(t)
	s.at(10).watch(event.Down, event.KindPod, event.KindEndpointSlice)
	s.at(40).lists(event.KindEndpointSlice, slice("a", "web", "-web-1", "web-2"))
	s.at(40.5).lists(event.KindPod, unready("ContainersNotReady", container1("waiting", "CrashLoopBackOff", 3)), aPod("web-2", ready, running("app:1", 0)))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
}

// TestEndpointsDeleted deletes Endpoints, from which address states are read. The controller writes them again within
// 20 ms.
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

// TestKubeletRestartPodFirst restarts a v1.31 kubelet. Its pod's event arrives before the Lease renewal.
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

// TestScaleToZeroAndUp scales a Service to zero and up again. The outage starts with the deletion of its pods.
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

// TestPlaceholderHasNoWriter creates a Service while kubeflap watches. Its first slice is a placeholder without
// addresses and without a writer. The controller's own writes must not count as edits by another writer.
func TestPlaceholderHasNoWriter(t *testing.T) {
	w := func(writer string, addresses ...string) *event.EndpointSlice {
		o := slice("a", "web", addresses...)
		o.Writer = writer
		return o
	}
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0))
	s.at(1).added(aService("web", true), w(""))
	s.at(2).added(aPod("web-1", ready), aPod("web-2", ready)).modified(w("kube-controller-manager", "web-1", "web-2"))
	// Later the controller removes an address for a reason that kubeflap cannot see, such as a label change of the pod.
	s.at(600).modified(aPod("web-1", ready)).modified(w("kube-controller-manager", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.Unknown)
}

// TestNamespaceDeleted deletes a namespace. Endpoints and mirrored slices disappear before the Service.
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

// TestNodeNotReadyPodFirst covers a kubelet that reports its node not ready. The pod's event arrives 100 ms before the
// node's.
func TestNodeNotReadyPodFirst(t *testing.T) {
	s := webStory(t)
	s.at(10).modified(unready("ContainersNotReady"))
	s.at(10.1).modified(aNode("node-1", notReady, 10)).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeNotReady)
}

// TestInPlaceThenNodeLost covers a node that is lost 50 s after an in-place image change.
func TestInPlaceThenNodeLost(t *testing.T) {
	s := webStory(t).at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(60).modified(unknownSince("node-1", 60))
	s.modified(unready("", containersReady, func(p *event.Pod) { p.Containers[0].Image = "app:2" })).modified(slice("a", "web", "-web-1", "web-2"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.NodeHeartbeatLost)
}

// TestEvictedPublished covers an evicted pod of a Service with publishNotReadyAddresses. The address is only removed
// when the pod has failed.
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

// TestPublishedReselected changes the selector of a Service that publishes the address of a pod that has been unready
// for a long time.
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

// TestTwoServices checks that both Services of a pod lose its address when a container exits.
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

// TestLeaseWatchBreak checks that a renewal is not a kubelet restart if it comes soon after a broken Lease watch has
// listed again.
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

// TestClockStep moves the node's clock 3 s forward when the kubelet sends its 5-minute status report.
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
