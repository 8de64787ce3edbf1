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

// lost is a story of a Service that loses addresses by only one cause.
type lost struct {
	name   string
	events func(*story)
	want   cause.Cause
}

// play tells each story from a start of its own.
func play(t *testing.T, starts func(*testing.T) *story, stories []lost) {
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			s := starts(t)
			c.events(s)
			s.Advance(s.now.Add(lagWait))
			s.onlyLoss(t, c.want)
		})
	}
}

// webNotReady and webReady show the address of web-1 not ready and ready.
func (s *story) webNotReady() *story { return s.modified(slice("a", "web", "-web-1", "web-2")) }
func (s *story) webReady() *story    { return s.modified(slice("a", "web", "web-1", "web-2")) }

// probeFails is a failed probe of web-1, and the slice that shows it.
func (s *story) probeFails() *story { return s.modified(unready("ContainersNotReady")).webNotReady() }

func terminating(name string) *event.Pod {
	p := aPod(name, ready, running("app:1", 0))
	deleting(p)
	return p
}

func selecting(labels map[string]string) *event.Service {
	o := aService("web", true)
	o.Selector = labels
	return o
}

func published(o *event.Service) *event.Service { o.PublishNotReady = true; return o }

func image2(p *event.Pod) { p.Containers[0].Image = "app:2" }

// oldNode returns node-1 with a kubelet whose restart takes the readiness of its pods.
func oldNode(beat float64) *event.Node {
	n := aNode("node-1", ready, -100)
	n.KubeletVersion = "v1.31.4"
	n.Ready.LastHeartbeatTime = clock(beat)
	return n
}

func handSlice(name string, ready bool, ips ...string) *event.EndpointSlice {
	o := slice(name, "web")
	o.Owner, o.ManagedBy = event.UID{}, "someone.example.com"
	for _, ip := range ips {
		o.Addresses = append(o.Addresses, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: ready})
	}
	return o
}

// mirrored returns the slice that mirrors manually managed Endpoints.
func mirrored(ips ...string) *event.EndpointSlice {
	o := handSlice("m", true, ips...)
	o.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	return o
}

// webOn is a Service and its pods on this node.
func webOn(t *testing.T, node *event.Node, service *event.Service) *story {
	return newStory(t, grace40).starts(node, lease("node-1", 0), service,
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
}

func TestEvidenceOfPods(t *testing.T) {
	play(t, webStory, []lost{
		{"a webhook refuses the eviction after DisruptionTarget was written, and then a probe fails", func(s *story) {
			evicted := aPod("web-1", ready, running("app:1", 0))
			evicted.Disruption = "EvictionByEvictionAPI"
			s.at(10).modified(evicted)
			s.at(60).modified(unready("ContainersNotReady", disrupted("EvictionByEvictionAPI"))).webNotReady()
		}, cause.ProbeFailed},
		{"a label changes: the pod leaves the Service, and the controller deletes the slice, which has no other", func(s *story) {
			s.added(aPod("web-3", ready, running("app:1", 0)), slice("b", "web", "web-3"))
			s.at(10).modified(aPod("web-3", ready, running("app:1", 0)))
			s.at(10.1).deleted(slice("b", "web", "web-3"))
		}, cause.Unknown},
		{"a probe fails ten minutes after a sidecar restarted: lastTransitionTime is older than the restart", func(s *story) {
			s.at(3).modified(aPod("web-1", ready, running("app:1", 1)))
			s.at(600).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) {
				p.Containers[0].Started, p.Ready.LastTransitionTime = clock(3), clock(-5000)
			})).webNotReady()
		}, cause.ProbeFailed},
		{"the kubelet replaces a container after its liveness probe failed", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) { p.Containers[0].ID = "new" })).webNotReady()
		}, cause.ContainerExit},
		{"a gate takes the pod out, and 200 ms later it is deleted", func(s *story) {
			s.at(10).modified(unready("ReadinessGatesNotReady", containersReady)).at(10.1).webNotReady()
			s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting))
			s.at(10.3).modified(slice("a", "web", "~web-1", "web-2"))
		}, cause.ReadinessGate},
		{"the same, with a slice watch that is 300 ms late", func(s *story) {
			s.at(10).modified(unready("ReadinessGatesNotReady", containersReady))
			s.at(10.2).modified(unready("ReadinessGatesNotReady", containersReady, deleting)).at(10.3).webNotReady()
			s.at(10.31).modified(slice("a", "web", "~web-1", "web-2"))
		}, cause.ReadinessGate},
		{"a probe fails and works again within 100 ms, and the slice shows it later", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady")).at(10.1).modified(aPod("web-1", ready, running("app:1", 0)))
			s.at(10.15).webNotReady().at(10.2).webReady()
		}, cause.ProbeFailed},
		{"a Job's pod completes, and the TTL controller deletes it before the slice's event", func(s *story) {
			done := unready("PodCompleted", phase("Succeeded", ""), deleting)
			s.at(10).modified(unready("PodCompleted", phase("Succeeded", "")))
			s.at(10.1).modified(done).deleted(done).at(10.2).modified(slice("a", "web", "web-2"))
		}, cause.PodCompleted},
		{"the watches of pods and slices break, and a list shows a pod that has restarted and is not ready", func(s *story) {
			s.at(10).watch(event.Down, event.KindPod, event.KindEndpointSlice)
			s.at(40).lists(event.KindEndpointSlice, slice("a", "web", "-web-1", "web-2"))
			s.at(40.5).lists(event.KindPod, unready("ContainersNotReady", container1("waiting", "CrashLoopBackOff", 3)), aPod("web-2", ready, running("app:1", 0)))
		}, cause.ContainerExit},
	})
}

func TestEvidenceOfNodes(t *testing.T) {
	play(t, webStory, []lost{
		{"a probe fails an hour after the kubelet reported a full disk", func(s *story) {
			s.at(10).modified(aNode("node-1", notReady, 10)).at(3610).probeFails()
		}, cause.ProbeFailed},
		{"a lost node: slice, pod, node", func(s *story) {
			s.at(50).webNotReady().at(50.1).modified(unready("", containersReady)).at(50.4).modified(unknownSince("node-1", 50))
		}, cause.NodeHeartbeatLost},
		{"a pod of a lost node is evicted after tolerationSeconds, which is no second loss", func(s *story) {
			s.at(50).modified(unknownSince("node-1", 50)).modified(unready("", containersReady)).webNotReady()
			s.at(350).modified(unready("", containersReady, deleting, disrupted("DeletionByTaintManager"))).modified(slice("a", "web", "~web-1", "web-2"))
			s.at(351).deleted(unready("", containersReady, deleting)).modified(slice("a", "web", "web-2"))
		}, cause.NodeHeartbeatLost},
		{"the kubelet reports its node not ready: the pod's event is 100 ms earlier", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady")).at(10.1).modified(aNode("node-1", notReady, 10)).webNotReady()
		}, cause.NodeNotReady},
		{"a node is lost 50 s after an image was changed in place", func(s *story) {
			s.at(10).modified(aPod("web-1", ready, running("app:2", 0)))
			s.at(60).modified(unknownSince("node-1", 60)).modified(unready("", containersReady, image2)).webNotReady()
		}, cause.NodeHeartbeatLost},
	})
}

func TestEvidenceOfKubeletsThatRestart(t *testing.T) {
	silent := unknownSince("node-1", 42)
	silent.KubeletVersion, silent.Ready.LastHeartbeatTime = "v1.31.4", clock(-10)
	for _, c := range []struct {
		name   string
		beat   float64
		events func(*story)
		want   cause.Cause
	}{
		// It reports its status every 5 minutes, or after an image pull.
		{"a kubelet that always renews late, and its regular status report", -250, func(s *story) {
			for _, at := range []float64{13, 26, 39} {
				s.at(at).modified(lease("node-1", at))
			}
			s.at(50).modified(oldNode(50)).at(52).modified(lease("node-1", 52)).at(70).probeFails()
		}, cause.ProbeFailed},
		{"a probe fails 25 s after a lost node has returned", -10, func(s *story) {
			s.at(42).modified(silent).at(60).modified(lease("node-1", 60)).at(60.1).modified(oldNode(60)).at(85).probeFails()
		}, cause.ProbeFailed},
		{"a restart: the pod's event is before the Lease's renewal", -10, func(s *story) {
			s.at(10).modified(lease("node-1", 10)).at(15).modified(oldNode(15)).at(15.1).probeFails()
			s.at(15.3).modified(lease("node-1", 15.3))
		}, cause.KubeletRestart},
		{"a renewal soon after a broken Lease watch has listed again", -200, func(s *story) {
			s.at(5).watch(event.Down, event.KindLease).at(45).lists(event.KindLease, lease("node-1", 40))
			s.at(46).modified(oldNode(46)).at(50.2).modified(lease("node-1", 50.2)).at(55).probeFails()
		}, cause.ProbeFailed},
		{"the node's clock moves 3 s forward at the regular status report", -280, func(s *story) {
			s.at(10).modified(lease("node-1", 10)).at(20).modified(oldNode(20)).at(20.1).modified(lease("node-1", 23.1))
			s.at(40).probeFails()
		}, cause.ProbeFailed},
	} {
		play(t, func(t *testing.T) *story { return webOn(t, oldNode(c.beat), aService("web", true)) }, []lost{{c.name, c.events, c.want}})
	}
}

func TestEvidenceOfServices(t *testing.T) {
	play(t, webStory, []lost{
		{"a pod crashes 2 s after the selector changed", func(s *story) {
			s.at(10).modified(selecting(map[string]string{"app": "web", "v": "2"}))
			s.at(12).modified(unready("ContainersNotReady", container1("terminated", "Error", 0))).webNotReady()
		}, cause.ContainerExit},
		{"a throttled controller removes the addresses 8 s after the selector changed", func(s *story) {
			s.at(10).modified(selecting(map[string]string{"app": "other"})).at(18).modified(slice("a", "web"))
		}, cause.ServiceChanged},
	})
	play(t, func(t *testing.T) *story {
		return webOn(t, aNode("node-1", ready, -100), published(aService("web", true)))
	}, []lost{
		{"publishNotReadyAddresses is turned off after a pod was not ready for a minute", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady")).at(70).modified(aService("web", true)).at(70.1).webNotReady()
		}, cause.ServiceChanged},
		{"a pod that is not ready is evicted, and its published address is removed only then", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady"))
			s.at(300).modified(unready("PodFailed", phase("Failed", "Evicted"), disrupted("TerminationByKubelet")))
			s.at(300.1).modified(slice("a", "web", "web-2"))
		}, cause.PodEvicted},
		{"the selector changes when the published pod has long not been ready", func(s *story) {
			s.at(10).modified(unready("ContainersNotReady"))
			s.at(300).modified(published(selecting(map[string]string{"app": "other"}))).modified(slice("a", "web"))
		}, cause.ServiceChanged},
	})
}

func TestEvidenceOfWriters(t *testing.T) {
	endpoints := func(addresses ...string) *event.Endpoints {
		return &event.Endpoints{Meta: handWritten("web").Meta, Writer: "kube-controller-manager", Addresses: slice("a", "web", addresses...).Addresses}
	}
	play(t, func(t *testing.T) *story {
		return newStory(t, Settings{AddressSource: event.KindEndpoints, BounceWindow: time.Minute})
	}, []lost{
		{"one of three manually managed addresses leaves, which no controller does", func(s *story) {
			s.starts(aService("web", true), handWritten("web", "192.0.2.1", "192.0.2.2", "192.0.2.3"))
			s.at(10).modified(handWritten("web", "192.0.2.1", "192.0.2.2"))
		}, cause.ManualWrite},
		{"Endpoints are deleted, and the controller writes them again within 20 ms", func(s *story) {
			s.starts(aNode("node-1", ready, -100), aService("web", true), aPod("web-1", ready), aPod("web-2", ready), endpoints("web-1", "web-2"))
			s.at(10).deleted(endpoints("web-1", "web-2")).at(10.02).added(endpoints("web-1", "web-2"))
		}, cause.ManualWrite},
	})
	placeholder := func(writer string, addresses ...string) *event.EndpointSlice {
		o := slice("a", "web", addresses...)
		o.Writer = writer
		return o
	}
	play(t, func(t *testing.T) *story { return newStory(t, Settings{BounceWindow: time.Minute}) }, []lost{
		{"a selector is added to a Service with mirrored addresses: the slice watch is ahead", func(s *story) {
			full := mirrored("192.0.2.1")
			full.Owner = id("service/web")
			s.starts(aService("web", false), handWritten("web", "192.0.2.1"), full).at(10).deleted(full)
			s.at(10.02).modified(handWritten("web")).at(10.05).modified(aService("web", true))
		}, cause.EndpointsReset},
	})
	play(t, func(t *testing.T) *story {
		return newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0))
	}, []lost{
		// The first slice of a Service is a placeholder. The controller's own writes are not edits by another writer.
		// Later the controller removes an address for a reason that kubeflap cannot see.
		{"a placeholder without a writer", func(s *story) {
			s.at(1).added(aService("web", true), placeholder(""))
			s.at(2).added(aPod("web-1", ready), aPod("web-2", ready)).modified(placeholder("kube-controller-manager", "web-1", "web-2"))
			s.at(600).modified(aPod("web-1", ready)).modified(placeholder("kube-controller-manager", "web-2"))
		}, cause.Unknown},
	})
	play(t, func(t *testing.T) *story { return webStory(t).added(handSlice("x", true, "192.0.2.1")).at(10) }, []lost{
		{"another writer turns its slice not ready", func(s *story) { s.modified(handSlice("x", false, "192.0.2.1")) }, cause.ManualWrite},
		{"another writer deletes its slice, which the selector did not", func(s *story) {
			s.deleted(handSlice("x", true, "192.0.2.1")).Advance(s.now.Add(lagWait))
			for _, x := range of[transition.EndpointsReset](s) {
				equal(s.t, "by the selector", x.BySelector, false)
			}
		}, cause.ManualWrite},
	})
}

// TestPodWatchBroken breaks the pod watch while a pod is not ready. The pod recovers unseen and is then deleted.
func TestPodWatchBroken(t *testing.T) {
	s := webStory(t).at(10).probeFails()
	s.at(11).watch(event.Down, event.KindPod).at(20).webReady().at(30).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(30.5).lists(event.KindPod, terminating("web-1"), aPod("web-2", ready, running("app:1", 0)))
	s.Advance(s.now.Add(lagWait))
	equal(t, "probe_failed", s.losses(cause.ProbeFailed), 1)
	equal(t, "pod_deleted", s.losses(cause.PodDeleted), 1)
}

// TestCrashAfterInPlaceUpdateDone crashes the new container one minute after an in-place update has completed.
func TestCrashAfterInPlaceUpdateDone(t *testing.T) {
	s := webStory(t).at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(12).modified(unready("ContainersNotReady", container1("terminated", "Completed", 0), image2)).webNotReady()
	s.at(16).modified(aPod("web-1", ready, running("app:2", 1))).webReady()
	s.at(90).modified(unready("ContainersNotReady", container1("terminated", "OOMKilled", 1), image2)).webNotReady()
	s.Advance(s.now.Add(lagWait))
	equal(t, "inplace", s.losses(cause.InPlaceUpdate), 1)
	equal(t, "exit", s.losses(cause.ContainerExit), 1)
}

// TestDeletedThenEvicted covers a deleted pod that the kubelet evicts during the termination grace period.
func TestDeletedThenEvicted(t *testing.T) {
	s := webStory(t).at(10).modified(terminating("web-1")).modified(slice("a", "web", "~web-1", "web-2"))
	s.at(15).modified(unready("PodFailed", phase("Failed", "Evicted"), deleting, disrupted("TerminationByKubelet")))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodDeleted)
	equal(t, "transitions by deleted", s.inShop().Transitions[notReady][cause.PodDeleted], 1)
}

// TestScaleToZeroAndUp scales a Service to zero and up again. The outage starts with the deletion of its pods.
func TestScaleToZeroAndUp(t *testing.T) {
	s := webStory(t).at(10).modified(terminating("web-1"), terminating("web-2")).modified(slice("a", "web", "~web-1", "~web-2"))
	s.at(12).deleted(terminating("web-1"), terminating("web-2")).modified(slice("a", "web"))
	s.at(15).added(aPod("web-3", notReady)).modified(slice("a", "web", "-web-3"))
	s.at(16).modified(aPod("web-3", ready)).modified(slice("a", "web", "web-3"))
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.PodDeleted)
	equal(t, "outages", s.service("web").Outages, 1)
}

// TestNamespaceDeleted deletes a namespace. Endpoints and mirrored slices disappear before the Service.
func TestNamespaceDeleted(t *testing.T) {
	full := mirrored("192.0.2.1")
	s := newStory(t, Settings{BounceWindow: time.Minute}).starts(aService("web", false), handWritten("web", "192.0.2.1"), full)
	s.at(10).deleted(handWritten("web", "192.0.2.1")).at(10.01).deleted(full).at(10.1).deleted(aService("web", false))
	s.Advance(s.now.Add(lagWait))
	equal(t, "found", count[transition.OutageStarted](s)+count[transition.AddressLost](s)+count[transition.AddressRemoved](s), 0)
}

// TestTwoServices checks that both Services of a pod lose its address when a container exits.
func TestTwoServices(t *testing.T) {
	s := webStory(t).added(aService("two", true), slice("b", "two", "web-1")).at(10).modified(slice("b", "two", "-web-1"))
	s.at(10.2).modified(unready("ContainersNotReady", container1("terminated", "Error", 0))).at(10.4).webNotReady()
	s.Advance(s.now.Add(lagWait))
	s.onlyLoss(t, cause.ContainerExit)
	equal(t, "of two", s.service("two").Losses[cause.ContainerExit], 1)
}
