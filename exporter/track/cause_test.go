package track

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// unready returns the pod web-1 with Ready=False and a reason, modified by the given functions.
func unready(reason string, change ...func(*event.Pod)) *event.Pod {
	p := aPod("web-1", notReady, running("app:1", 0))
	p.Ready.Reason = reason
	for _, c := range change {
		c(p)
	}
	return p
}

func container1(state, _ string, restarts int32) func(*event.Pod) {
	return func(p *event.Pod) {
		p.Containers[0].State, p.Containers[0].Restarts = state, restarts
		p.Containers[0].Ready = false
	}
}

func containersReady(p *event.Pod) { p.ContainersReady = ready }

func deleting(p *event.Pod) { p.DeletionTimestamp = clock(40) }

func disrupted(reason string) func(*event.Pod) {
	return func(p *event.Pod) { p.Disruption = reason }
}

func phase(phase, reason string) func(*event.Pod) {
	return func(p *event.Pod) { p.Phase, p.Reason = phase, reason }
}

// webStory begins with a Service and its pods web-1 and web-2 on node-1.
func webStory(t *testing.T) *story {
	node := aNode("node-1", ready, -100)
	node.KubeletVersion = "v1.36.3"
	return newStory(t, grace40).starts(node, lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
}

func (s *story) losses(why cause.Cause) uint32 { return s.service("web").Losses[why] }

func TestCauseOfAPodThatIsNotReady(t *testing.T) {
	cases := []struct {
		name   string
		events func(*story)
		want   cause.Cause
	}{
		{
			"marked by the node controller: no reason, the containers ready",
			func(s *story) { s.modified(unknownSince("node-1", 10), unready("", containersReady)) }, cause.NodeHeartbeatLost,
		},
		{
			"marked because of Unknown, and seen when the kubelet is back and reports NotReady",
			func(s *story) {
				s.modified(unknownSince("node-1", 10)).at(10.1).modified(aNode("node-1", notReady, 10))
				s.at(11.5).modified(unready("", containersReady))
			}, cause.NodeHeartbeatLost,
		},
		{
			"marked because of Unknown, and seen when the node was NotReady and is Ready again",
			func(s *story) {
				s.modified(unknownSince("node-1", 10)).at(10.1).modified(aNode("node-1", notReady, 10))
				s.at(11).modified(aNode("node-1", ready, 11))
				s.at(11.5).modified(unready("", containersReady))
			}, cause.NodeHeartbeatLost,
		},
		{
			"marked for a second time, because the kubelet is back and reports NotReady",
			func(s *story) {
				s.modified(unknownSince("node-1", 10), unready("", containersReady)).at(10.1).modified(aNode("node-1", notReady, 10))
				s.at(11).modified(aPod("web-1", ready, running("app:1", 0))).at(11.5).modified(unready("", containersReady))
			}, cause.NodeNotReady,
		},
		{
			"marked by the node controller, whose write of the node is seen 1.5 s later",
			func(s *story) {
				s.modified(unready("", containersReady)).at(11.5).modified(unknownSince("node-1", 10))
			}, cause.NodeHeartbeatLost,
		},
		{
			"marked by the node controller and back, before the node is seen to turn",
			func(s *story) {
				s.modified(unready("", containersReady)).at(10.5).modified(aPod("web-1", ready, running("app:1", 0)))
				s.at(11.5).modified(unknownSince("node-1", 10)).modified(unready("", containersReady))
			}, cause.NodeHeartbeatLost,
		},
		{
			"marked by the node controller, which is seen when the node is back already",
			func(s *story) {
				s.modified(unknownSince("node-1", 10)).at(10.5).modified(aNode("node-1", ready, 10))
				s.at(11.5).modified(unready("", containersReady))
			}, cause.NodeHeartbeatLost,
		},
		{
			"marked by the node controller because the kubelet says that it is not ready",
			func(s *story) { s.modified(aNode("node-1", notReady, 10), unready("", containersReady)) }, cause.NodeNotReady,
		},
		{
			"marked by the node controller, and the node stays Ready as far as is seen",
			func(s *story) { s.modified(unready("", containersReady)).at(30) }, cause.Unknown,
		},
		{
			"a probe fails: the same container runs on",
			func(s *story) { s.modified(unready("ContainersNotReady")) }, cause.ProbeFailed,
		},
		{
			"a crash: the container is terminated",
			func(s *story) { s.modified(unready("ContainersNotReady", container1("terminated", "Error", 0))) }, cause.ContainerExit,
		},
		{
			"a crash loop: the container waits",
			func(s *story) {
				s.modified(unready("ContainersNotReady", container1("waiting", "CrashLoopBackOff", 3)))
			},
			cause.ContainerExit,
		},
		{
			"a crash that was quicker than the kubelet's report: another container runs",
			func(s *story) { s.modified(unready("ContainersNotReady", container1("running", "", 1))) }, cause.ContainerExit,
		},
		{
			"a restarted container is ready for a moment, until it is probed anew",
			func(s *story) {
				s.modified(aPod("web-1", ready, running("app:1", 1)))
				s.modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) {
					p.Containers[0].Started, p.Ready.LastTransitionTime = clock(10), clock(11)
				}))
			}, cause.ContainerExit,
		},
		{
			"a probe fails some time after a restart",
			func(s *story) {
				s.modified(aPod("web-1", ready, running("app:1", 1)))
				s.modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) {
					p.Containers[0].Started, p.Ready.LastTransitionTime = clock(10), clock(26)
				}))
			}, cause.ProbeFailed,
		},
		{
			"an image was changed in place a minute ago",
			func(s *story) {
				s.modified(aPod("web-1", ready, running("app:2", 0)))
				s.at(70).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) { p.Containers[0].Image = "app:2" }))
			},
			cause.InPlaceUpdate,
		},
		{
			"an image was changed in place, and a gate takes the pod out",
			func(s *story) {
				s.modified(aPod("web-1", ready, running("app:2", 0)))
				s.at(12).modified(unready("ReadinessGatesNotReady", containersReady, func(p *event.Pod) { p.Containers[0].Image = "app:2" }))
			},
			cause.InPlaceUpdate,
		},
		{
			"an image was changed in place long ago",
			func(s *story) {
				s.modified(aPod("web-1", ready, running("app:2", 0)))
				s.at(300).modified(unready("ContainersNotReady", func(p *event.Pod) { p.Containers[0].Image = "app:2" }))
			},
			cause.ProbeFailed,
		},
		{
			"a readiness gate",
			func(s *story) { s.modified(unready("ReadinessGatesNotReady", containersReady)) }, cause.ReadinessGate,
		},
		{
			"evicted by the kubelet",
			func(s *story) {
				s.modified(unready("PodFailed", phase("Failed", "Evicted"), disrupted("TerminationByKubelet")))
			},
			cause.PodEvicted,
		},
		{
			"being killed by the kubelet, which says so only by the reason of Ready",
			func(s *story) { s.modified(unready("PodFailed")) }, cause.PodEvicted,
		},
		{
			"drained",
			func(s *story) {
				s.modified(unready("ContainersNotReady", deleting, disrupted("EvictionByEvictionAPI")))
			}, cause.PodEvicted,
		},
		{
			"deleted",
			func(s *story) { s.modified(unready("ContainersNotReady", deleting)) }, cause.PodDeleted,
		},
		{
			"completed",
			func(s *story) { s.modified(unready("PodCompleted", phase("Succeeded", ""))) }, cause.PodCompleted,
		},
		{
			"preempted, and its containers ended well when they were told to stop",
			func(s *story) {
				s.modified(unready("PodCompleted", phase("Succeeded", ""), disrupted("TerminationByKubelet")))
			}, cause.PodEvicted,
		},
		{
			"deleted, and its containers ended well when they were told to stop",
			func(s *story) { s.modified(unready("PodCompleted", phase("Succeeded", ""), deleting)) }, cause.PodDeleted,
		},
		{
			"the kubelet says that its node is not ready",
			func(s *story) {
				s.modified(aNode("node-1", notReady, 9)).modified(unready("ContainersNotReady"))
			},
			cause.NodeNotReady,
		},
		{
			"a kubelet before v1.35 restarted: Lease and status off their beat, and the pod not ready",
			func(s *story) { s.kubeletRestarts("v1.34.1").modified(unready("ContainersNotReady")) }, cause.KubeletRestart,
		},
		{
			"a kubelet from v1.35 on restarted: that takes no readiness any more",
			func(s *story) { s.kubeletRestarts("v1.35.0").modified(unready("ContainersNotReady")) }, cause.ProbeFailed,
		},
		{
			"no evidence",
			func(s *story) { s.modified(unready("SomethingElse")) }, cause.Unknown,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).at(10)
			c.events(s)
			s.modified(slice("a", "web", "-web-1", "web-2"))
			s.Advance(s.now.Add(nodeWait))
			if s.inShop().Transitions[notReady][c.want] == 0 {
				t.Errorf("transitions to false: %v, want some by %s", s.inShop().Transitions[notReady], c.want)
			}
			equal(t, "losses of the address", s.losses(c.want), 1)
			equal(t, "last loss", s.service("web").LastCause, c.want)
			equal(t, "when", s.service("web").LastLoss, s.now)
		})
	}
}

// kubeletRestarts makes node-1's kubelet of this version renew and report early.
func (s *story) kubeletRestarts(version string) *story {
	node := aNode("node-1", ready, -100)
	node.KubeletVersion = version
	s.modified(lease("node-1", 10))
	node.Ready.LastHeartbeatTime = clock(16)
	return s.at(16).modified(lease("node-1", 16), node).at(17)
}

func TestCauseOfARecoveryIsWhatThePodRecoversFrom(t *testing.T) {
	s := webStory(t).at(10).modified(unready("ContainersNotReady"))
	s.at(20).modified(aPod("web-1", ready, running("app:1", 0)))
	equal(t, "to true", s.inShop().Transitions[ready][cause.ProbeFailed], 1)
}

func TestPodsFirstReadyIsNoTransition(t *testing.T) {
	s := webStory(t)
	s.at(10).added(aPod("web-3", notReady, running("app:1", 0)))
	s.at(12).modified(aPod("web-3", ready, running("app:1", 0)))
	equal(t, "transitions", s.inShop().Transitions, [3][cause.Count]uint64{})
}

func TestCauseOfAFlapThatIsOverWhenTheSliceShowsIt(t *testing.T) {
	back := aPod("web-1", ready, running("app:1", 1))
	crash := unready("ContainersNotReady", container1("terminated", "Error", 0))
	for _, c := range []struct {
		name  string
		after float64
		slice *event.EndpointSlice
		want  cause.Cause
	}{
		{"within a second", 0.5, slice("a", "web", "-web-1", "web-2"), cause.ContainerExit},
		{"late, as of a slow controller", 5, slice("a", "web", "-web-1", "web-2"), cause.ContainerExit},
		{"long after: that was something else", 20, slice("a", "web", "-web-1", "web-2"), cause.Unknown},
		{"removed: the flap of a pod does not do that", 0.5, slice("a", "web", "web-2"), cause.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).at(10).modified(crash).modified(back)
			s.at(10 + c.after).modified(c.slice)
			s.Advance(s.now.Add(lagWait))
			equal(t, "losses", s.losses(c.want), 1)
		})
	}
}

// written sets the resourceVersion of an object.
func written[T event.Object](version string, o T) T {
	o.Metadata().ResourceVersion = version
	return o
}

func TestCauseOfAFlapIsTheLastChangeThatWasWrittenBeforeTheSlice(t *testing.T) {
	for _, c := range []struct {
		name, version string
		want          cause.Cause
	}{
		{"after the crash", "20", cause.ContainerExit},
		{"after the failed probe", "40", cause.ProbeFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).at(10).modified(written("10", unready("ContainersNotReady", container1("terminated", "Error", 0))))
			s.at(10.5).modified(written("15", aPod("web-1", ready, running("app:1", 0))))
			s.at(10.6).modified(written("30", unready("ContainersNotReady")))
			s.at(10.7).modified(written(c.version, slice("a", "web", "-web-1", "web-2")))
			s.Advance(s.now.Add(lagWait))
			equal(t, "losses", s.losses(c.want), 1)
		})
	}
}

func TestSelectorDoesNotExplainAnAddressThatStays(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "other"}
	s := webStory(t).at(10).modified(other).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(12).modified(unready("ContainersNotReady"))
	s.Advance(s.now.Add(lagWait))
	equal(t, "losses", s.losses(cause.ProbeFailed), 1)
}

func TestNodeExplainsAPodByTheTimesOfTheKubelet(t *testing.T) {
	for _, c := range []struct {
		name                string
		since, until, flips float64
		want                cause.Cause
	}{
		{"the node recovered before kubeflap saw the pod", 9, 11, 10, cause.NodeNotReady},
		{"the node had recovered long before the pod failed", 2, 5, 10, cause.ProbeFailed},
		{"the node failed long after the pod", 14, 20, 10, cause.ProbeFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).at(20).modified(aNode("node-1", notReady, c.since)).modified(aNode("node-1", ready, c.until))
			pod := unready("ContainersNotReady")
			pod.Ready.LastTransitionTime = clock(c.flips)
			s.modified(pod)
			s.Advance(s.now.Add(nodeWait))
			equal(t, "transitions", s.inShop().Transitions[notReady][c.want], 1)
		})
	}
}

func TestCauseOfAnAddressThatIsRemoved(t *testing.T) {
	other := aService("web", true)
	other.Selector = map[string]string{"app": "other"}
	edited := slice("a", "web", "web-2")
	edited.Writer = "kubectl-edit"
	written := slice("a", "web", "web-1", "web-2")
	written.Writer = "kube-controller-manager"
	cases := []struct {
		name   string
		events func(*story)
		want   cause.Cause
	}{
		{
			"its pod is deleted and stays Ready",
			func(s *story) {
				p := aPod("web-1", ready, running("app:1", 0))
				deleting(p)
				s.modified(p).modified(slice("a", "web", "~web-1", "web-2"))
			},
			cause.PodDeleted,
		},
		{
			"its pod is evicted by a taint",
			func(s *story) {
				p := aPod("web-1", ready, running("app:1", 0))
				deleting(p)
				p.Disruption = "DeletionByTaintManager"
				s.modified(p).modified(slice("a", "web", "~web-1", "web-2"))
			},
			cause.PodEvicted,
		},
		{
			"its pod failed for good",
			func(s *story) {
				s.modified(unready("PodFailed", phase("Failed", ""))).modified(slice("a", "web", "web-2"))
			}, cause.ContainerExit,
		},
		{
			"its pod is gone before its address is",
			func(s *story) {
				s.deleted(aPod("web-1", ready)).at(11).modified(slice("a", "web", "web-2"))
			},
			cause.PodDeleted,
		},
		{
			"the selector chooses other pods",
			func(s *story) { s.modified(other, slice("a", "web", "web-2")) }, cause.ServiceChanged,
		},
		{
			"someone edited the slice",
			func(s *story) { s.modified(written).at(11).modified(edited) }, cause.ManualWrite,
		},
		{
			"someone deleted the slice, and the controller made it anew",
			func(s *story) {
				s.deleted(slice("a", "web", "web-1", "web-2")).at(10.2).added(slice("b", "web", "web-1", "web-2"))
			}, cause.ManualWrite,
		},
		{
			"the controller took it out and nothing says why",
			func(s *story) { s.modified(slice("a", "web", "web-2")) }, cause.Unknown,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).at(10)
			c.events(s)
			s.Advance(s.now.Add(lagWait))
			if got := s.losses(c.want); got == 0 {
				t.Errorf("losses: %v, want some by %s", s.service("web").Losses, c.want)
			}
		})
	}
}

func TestLossWaitsForItsEvidence(t *testing.T) {
	t.Run("the pod's event comes after the address's", func(t *testing.T) {
		s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "web-2"))
		equal(t, "losses before the evidence", s.service("web").Losses, [cause.Count]uint32{})
		s.at(10.3).modified(unready("ContainersNotReady", container1("terminated", "Error", 0)))
		equal(t, "losses with it", s.losses(cause.ContainerExit), 1)
	})
	t.Run("a probe failed: the node may still be why", func(t *testing.T) {
		s := webStory(t).at(10).modified(unready("ContainersNotReady")).modified(slice("a", "web", "-web-1", "web-2"))
		equal(t, "losses before the evidence", s.service("web").Losses, [cause.Count]uint32{})
		s.at(13)
		equal(t, "losses after three seconds", s.losses(cause.ProbeFailed), 1)
	})
	t.Run("the Service's event comes after the address's", func(t *testing.T) {
		other := aService("web", true)
		other.Selector = map[string]string{"app": "other"}
		s := webStory(t).at(10).modified(slice("a", "web", "web-2"))
		s.at(10.3).modified(other)
		s.at(11.1)
		equal(t, "losses", s.losses(cause.ServiceChanged), 1)
	})
	t.Run("the pod is Ready as far as is seen: its watch is behind", func(t *testing.T) {
		s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "web-2"))
		s.at(24.9).modified(unready("ContainersNotReady", container1("terminated", "Error", 0)))
		equal(t, "losses", s.losses(cause.ContainerExit), 1)
	})
	t.Run("a probe failed and works again, and both are seen late", func(t *testing.T) {
		s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "web-2"))
		s.at(10.8).modified(slice("a", "web", "web-1", "web-2"))
		s.at(11.5).modified(unready("ContainersNotReady"))
		s.at(12.3).modified(aPod("web-1", ready, running("app:1", 0)))
		s.Advance(clock(15))
		equal(t, "losses", s.losses(cause.ProbeFailed), 1)
	})
	t.Run("no evidence comes", func(t *testing.T) {
		s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "web-2"))
		s.at(24.9)
		equal(t, "losses while it waits", s.losses(cause.Unknown), 0)
		s.at(25)
		equal(t, "losses after 15 s", s.losses(cause.Unknown), 1)
	})
	t.Run("the pod was never seen: nothing is known to be on its way", func(t *testing.T) {
		s := webStory(t).modified(slice("a", "web", "web-1", "web-2", "elsewhere"))
		s.at(10).modified(slice("a", "web", "web-1", "web-2", "-elsewhere"))
		s.at(11)
		equal(t, "losses after a second", s.losses(cause.Unknown), 1)
	})
}

func TestCauseOfAnOutage(t *testing.T) {
	ended := func(s *story) transition.OutageEnded {
		for _, x := range of[transition.OutageEnded](s) {
			return x
		}
		t.Fatal("no outage ended")
		return transition.OutageEnded{}
	}
	both := func(s *story) {
		s.at(10).modified(unready("ContainersNotReady"))
		s.at(10.1).modified(slice("a", "web", "-web-1", "web-2"))
		second := unready("", containersReady)
		second.Meta = aPod("web-2", ready).Meta
		s.at(11).modified(second)
	}
	t.Run("it is that of the address that was lost last", func(t *testing.T) {
		s := webStory(t)
		both(s)
		s.modified(unknownSince("node-1", 11))
		s.at(11.1).modified(slice("a", "web", "-web-1", "-web-2"))
		s.at(20).modified(slice("a", "web", "web-1", "-web-2"))
		equal(t, "cause", ended(s).Cause, cause.NodeHeartbeatLost)
		equal(t, "duration", seconds(ended(s).Lasted), 8.9)
	})
	t.Run("it is over before its cause is known", func(t *testing.T) {
		s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "-web-2"))
		s.at(10.2).modified(slice("a", "web", "-web-1", "web-2"))
		equal(t, "reported before", count[transition.OutageEnded](s), 0)
		crash := container1("terminated", "Error", 0)
		second := unready("ContainersNotReady", crash)
		second.Meta = aPod("web-2", ready).Meta
		s.at(10.3).modified(unready("ContainersNotReady", crash), second)
		equal(t, "cause", ended(s).Cause, cause.ContainerExit)
		equal(t, "duration", ended(s).Lasted, 200*time.Millisecond)
	})
}

func TestAnOutageWhoseCauseShowsAtOnceDoesNotOvertakeOneThatWaitsForItsOwn(t *testing.T) {
	s := webStory(t).at(5).modified(slice("a", "web", "web-1", "-web-2"))
	s.at(10).modified(slice("a", "web", "-web-1", "-web-2"))
	s.at(10.2).modified(slice("a", "web", "-web-1", "web-2"))
	second := unready("ContainersNotReady")
	second.Meta = aPod("web-2", ready).Meta
	s.at(10.3).modified(second)
	s.at(10.4).modified(slice("a", "web", "-web-1", "-web-2"))
	s.at(20).modified(slice("a", "web", "web-1", "-web-2"))
	s.Advance(clock(40))
	var outages []string
	for _, x := range s.transitions() {
		switch x.(type) {
		case transition.OutageStarted, transition.OutageEnded:
			outages = append(outages, x.When().Sub(zero).String()+" "+transition.FieldsOf(x).Cause.String())
		}
	}
	equal(t, "outages", strings.Join(outages, ", "), "10s unknown, 10.2s unknown, 10.4s probe_failed, 20s probe_failed")
	s.Settle()
	equal(t, "outages that were still to be reported", count[transition.OutageStarted](s)+count[transition.OutageEnded](s), len(outages))
}

func TestCauseOfHandWrittenAddressesThatAreWiped(t *testing.T) {
	for selector, want := range map[bool]cause.Cause{true: cause.EndpointsReset, false: cause.ManualWrite} {
		s := newStory(t, Settings{AddressSource: event.KindEndpoints, BounceWindow: time.Minute})
		s.starts(aService("web", selector), handWritten("web", "192.0.2.1"))
		s.at(10).modified(handWritten("web"))
		if want == cause.ManualWrite {
			s.at(11) // kubeflap may still see that a selector was added
		}
		equal(t, "losses by "+want.String(), s.losses(want), 1)
	}
}

func TestReadyThatIsStale(t *testing.T) {
	stale := func(s *story) (all []float64) {
		for _, x := range of[transition.PodReadyWasStale](s) {
			all = append(all, seconds(x.Stale))
		}
		return all
	}
	s := webStory(t).at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(14).modified(unready("ContainersNotReady", container1("running", "", 1), func(p *event.Pod) { p.Containers[0].Image = "app:2" }))
	if got := stale(s); len(got) != 1 || got[0] != 4 {
		t.Errorf("after an in-place update: %v, want 4 s", got)
	}
	s = webStory(t).at(10).modified(unready("ContainersNotReady"))
	if got := stale(s); len(got) != 0 {
		t.Errorf("after a failed probe: %v, want none", got)
	}
}

func TestAddressFollowsItsPod(t *testing.T) {
	s := webStory(t).at(10).modified(unready("ContainersNotReady"))
	s.at(10.25).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(20).modified(aPod("web-1", ready, running("app:1", 0)))
	s.at(20.5).modified(slice("a", "web", "web-1", "web-2"))
	if got := s.propagations(); !slices.Equal(got, []string{"not_ready 250ms", "ready 500ms"}) {
		t.Errorf("propagation %v, want not_ready after 250 ms and ready after 500 ms", got)
	}
}

// TestALossIsExplainedByAPodThatStillWaitedForItsNodeHoweverOftenAnyoneAsks delays the slice's event by more than
// evidenceWait, because the slice watch or the slice controller lags. The pod is still waiting for its node's event
// then, and recovers before the loss stops waiting.
func TestALossIsExplainedByAPodThatStillWaitedForItsNodeHoweverOftenAnyoneAsks(t *testing.T) {
	for _, every := range []time.Duration{time.Hour, time.Second, 100 * time.Millisecond} {
		for _, lost := range []float64{11.2, 11.5, 11.9, 12.5, 13.5} {
			s := webStory(t)
			asked := func(until float64) *story {
				for next := s.now.Add(every); next.Before(clock(until)); next = next.Add(every) {
					s.Advance(next)
				}
				return s.at(until)
			}
			asked(10).modified(unready("ContainersNotReady"))
			asked(lost).modified(slice("a", "web", "-web-1", "web-2"))
			asked(14.6).modified(aPod("web-1", ready, running("app:1", 0)))
			asked(15.6).modified(slice("a", "web", "web-1", "web-2"))
			equal(t, fmt.Sprintf("lost at %v s, asked every %s: by its probe", lost, every), asked(40).losses(cause.ProbeFailed), 1)
		}
	}
}
