package correlate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// podStory is what happens to pods of the Service web, and what the only incident says two minutes later.
type podStory struct {
	name string
	play func(*tracked)
	// The list says holds parts of the summary, the remedy and the evidence. The list lacks holds texts that must be in none
	// of them.
	cause       string
	says, lacks []string
}

// change returns the pod web-1 of a Deployment as changed, and Ready unless `how` changes that.
func change(how func(*event.Pod)) *event.Pod {
	p := aPod("web-1", event.StatusTrue, "")
	p.Owner, p.Labels = "ReplicaSet/web-5d4f6c7b89", map[string]string{"app": "web"}
	how(p)
	return p
}

func ready(*event.Pod) {}

// unready makes the pod not Ready, because its container runs and is not ready.
func unready(p *event.Pod) {
	p.Ready.Status, p.Ready.Reason, p.Containers[0].Ready = event.StatusFalse, "ContainersNotReady", false
}

// exited makes the pod not Ready, because its container has exited for this reason, and runs again.
func exited(reason string, code int32) func(*event.Pod) {
	return func(p *event.Pod) {
		unready(p)
		p.Containers[0].Restarts, p.Containers[0].LastReason, p.Containers[0].LastExitCode = 1, reason, code
	}
}

// evicted evicts the pod.
func evicted(reason, message string) func(*event.Pod) {
	return func(p *event.Pod) {
		p.DeletionTimestamp, p.Disruption, p.DisruptionMessage = zero.Add(seconds(100)), reason, message
	}
}

func relabelled(label, value string) func(*event.Pod) {
	return func(p *event.Pod) { p.Labels = map[string]string{label: value} }
}

func (b *tracked) pod(at float64, how func(*event.Pod), addresses ...string) {
	b.at(at).is(event.Modified, change(how))
	if addresses != nil {
		b.at(at+0.1).is(event.Modified, aSlice("s", addresses...))
	}
}

func podStories() []podStory {
	return []podStory{
		{
			"out of memory", func(b *tracked) { b.pod(10, exited("OOMKilled", 137), "-web-1") }, "container_exit",
			[]string{"Containers exited in pods of Deployment shop/web (container app: OOMKilled, exit code 137); ", "Raise the memory limit", "pod shop/web-1: Ready turned from True to False (container app: OOMKilled, exit code 137)"},
			[]string{"logs --previous"},
		},
		{
			"an error", func(b *tracked) { b.pod(10, exited("Error", 2), "-web-1") }, "container_exit",
			[]string{"(container app: Error, exit code 2)", "logs --previous"},
			[]string{"memory limit"},
		},
		{"a crash loop", func(b *tracked) {
			b.pod(10, func(p *event.Pod) {
				exited("OOMKilled", 137)(p)
				p.Containers[0].State, p.Containers[0].Reason = "waiting", "CrashLoopBackOff"
			}, "-web-1")
		}, "container_exit", []string{"shop/web waits for a container of pod shop/web-1 to keep running (container app: CrashLoopBackOff after OOMKilled, exit code 137). Raise the memory limit"}, []string{"logs --previous", "What began the outage"}},
		{
			"an exit that the kubelet did not see", func(b *tracked) { b.pod(10, exited("ContainerStatusUnknown", 137), "-web-1") }, "container_exit",
			[]string{"(container app: ContainerStatusUnknown, exit code 137)", "check whether the machine or the runtime was restarted"},
			[]string{"by a signal"},
		},
		{
			"no error", func(b *tracked) { b.pod(10, exited("Completed", 0), "-web-1") }, "container_exit",
			[]string{"(container app: Completed)", "ended without an error"},
			[]string{"memory limit"},
		},
		{
			"an exit that an old recording does not describe", func(b *tracked) { b.pod(10, exited("", 0), "-web-1") }, "container_exit",
			[]string{"Containers exited in pods of Deployment shop/web; ", "memory limit (OOMKilled)"},
			nil,
		},
		{
			"a readiness probe", func(b *tracked) { b.pod(10, unready, "-web-1") }, "probe_failed",
			[]string{"Readiness probes failed in pods of Deployment shop/web (readiness probe of container app); "},
			[]string{"exited"},
		},

		{"a probe, and then an exit", func(b *tracked) {
			b.pod(10, unready, "-web-1")
			b.pod(40, exited("Error", 137))
		}, "container_exit", []string{
			"Readiness probes failed in pods of Deployment shop/web, and then containers exited (container app: Error, exit code 137); ", "its liveness or startup probe failed before",
			"pod shop/web-1: Ready turned from True to False (readiness probe of container app)", "pod shop/web-1: a container exited (container app: Error, exit code 137)",
		}, nil},
		{"a probe, and soon an exit", func(b *tracked) {
			b.pod(10, unready, "-web-1")
			b.pod(11, exited("OOMKilled", 137))
		}, "container_exit", []string{"(readiness probe of container app, then container app: OOMKilled, exit code 137)", "Raise the memory limit"}, nil},
		{"a probe, an exit, a recovery, and again", func(b *tracked) {
			b.pod(10, unready, "-web-1")
			b.pod(40, exited("Error", 137))
			b.pod(50, ready, "web-1")
			b.pod(60, unready, "-web-1")
			b.pod(70, exited("Error", 137))
		}, "container_exit", []string{"and then containers exited", "2 ready addresses"}, nil},
		{"no exit of the pod: a probe, and a new pod of the workload exits", func(b *tracked) {
			b.pod(10, unready, "-web-1")
			other := change(exited("Error", 1))
			other.Name, other.UID = "web-2", event.ParseUID("pod/web-2")
			b.at(40).is(event.Added, other)
			b.at(40.1).is(event.Modified, aSlice("s", "-web-1", "-web-2"))
		}, "probe_failed", []string{"Readiness probes failed"}, []string{"exited"}},
		{"no exit: a probe, and a deletion ends the container", func(b *tracked) {
			b.pod(10, unready, "-web-1")
			b.pod(40, func(p *event.Pod) { exited("Error", 143)(p); p.DeletionTimestamp = zero.Add(seconds(70)) })
		}, "probe_failed", []string{"Readiness probes failed"}, []string{"exited"}},

		{"an eviction by the kubelet", func(b *tracked) {
			b.pod(10, func(p *event.Pod) { unready(p); p.Ready.Reason = "PodFailed" }, "-web-1")
			b.pod(20, func(p *event.Pod) {
				unready(p)
				p.Phase, p.Reason, p.Message = "Failed", "Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 97300Ki. "
			})
		}, "pod_evicted", []string{"(Evicted: The node was low on resource: memory. Threshold quantity: 100Mi, available: 97300Ki); ", "The node ran out of what its kubelet names"}, []string{"PodDisruptionBudget"}},
		{
			"a drain", func(b *tracked) { b.pod(10, evicted("EvictionByEvictionAPI", "Eviction API: evicting"), "-web-2") }, "pod_evicted",
			[]string{"(EvictionByEvictionAPI: Eviction API: evicting)", "PodDisruptionBudget", "pod shop/web-1: evicted (EvictionByEvictionAPI: Eviction API: evicting)"},
			nil,
		},
		{"a preemption", func(b *tracked) {
			b.pod(10, evicted("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"), "-web-2")
		}, "pod_evicted", []string{"higher priority (priorityClassName)"}, []string{"PodDisruptionBudget"}},
		{"relabelled", func(b *tracked) {
			b.at(5).is(event.Modified, aNode("node-1"))
			b.pod(10, relabelled("app", "debug"))
			b.at(10.1).is(event.Modified, aSlice("s"))
		}, "service_changed", []string{
			"Pods of Service shop/web were relabelled, so its selector no longer matches them (label app=debug, the selector is app=web); ", "set it back",
			"pod shop/web-1: the selector no longer matches the labels (label app=debug, the selector is app=web)",
		}, []string{"find out who changed the Service last"}},
		{"relabelled, and released by its ReplicaSet before the slice is written", func(b *tracked) {
			b.at(5).is(event.Modified, aNode("node-1"))
			b.pod(10, relabelled("app", "debug"))
			b.pod(10.05, func(p *event.Pod) { relabelled("app", "debug")(p); p.Owner = "" })
			b.at(10.1).is(event.Modified, aSlice("s"))
		}, "service_changed", []string{"Pods of Service shop/web were relabelled"}, nil},
		{"a gate", func(b *tracked) {
			b.pod(10, func(p *event.Pod) {
				p.Ready.Status, p.Ready.Reason, p.GatesNotReady = event.StatusFalse, "ReadinessGatesNotReady", []string{"lb.example/ready"}
			}, "-web-1")
		}, "readiness_gate", []string{"(lb.example/ready is not True)"}, nil},
	}
}

// played returns the events of a story. The Service has one address.
func (x podStory) played() *tracked {
	web := aService("web", "s", true)
	b := newTracked(grace40).starts(aNode("node-1"), web, change(ready), aSlice("s", "web-1"))
	x.play(b)
	for i := range b.events {
		if o := b.events[i].Object; o != nil {
			o.Metadata().ResourceVersion = fmt.Sprint(i + 1)
		}
	}
	return b
}

func TestIncidentsQuoteTheAPI(t *testing.T) {
	for _, x := range podStories() {
		t.Run(x.name, func(t *testing.T) {
			all := x.played().asOf(130)
			if len(all) != 1 {
				t.Fatalf("%d incidents, want 1: %s", len(all), summaries(all))
			}
			is := all[0]
			equal(t, "cause", is.Cause.String(), x.cause)
			equal(t, "verdict", is.Verdict.String(), "workload")
			text := is.Summary + "\n" + is.WaitsFor + ". " + is.Remedy
			for _, e := range is.Evidence {
				text += "\n" + e.Text
			}
			for _, want := range x.says {
				if !strings.Contains(text, want) {
					t.Errorf("it lacks %q:\n%s", want, text)
				}
			}
			for _, bad := range x.lacks {
				if strings.Contains(text, bad) {
					t.Errorf("it says %q:\n%s", bad, text)
				}
			}
		})
	}
}

func TestReplicasQuoteTheSame(t *testing.T) {
	for _, x := range podStories() {
		events := x.played().events
		first := reportedBy(t, events)
		for _, late := range []event.Kind{event.KindPod, event.KindEndpointSlice, event.KindNode} {
			for _, line := range difference(first, reportedBy(t, delayed(events, late))) {
				t.Errorf("%s, %s late: %s", x.name, late, line)
			}
		}
	}
}

func TestAnExitChangesTheReportedIncident(t *testing.T) {
	b := newTracked(grace40).starts(aNode("node-1"), aService("web", "s", true), change(ready), aSlice("s", "web-1"))
	var heard []string
	until := func(at float64) {
		b.asOf(at)
		for _, n := range b.log.Notices(zero.Add(seconds(at))) {
			heard = append(heard, fmt.Sprintf("%d %s", n.Kind, n.Incident.Cause))
		}
	}
	b.pod(10, unready, "-web-1")
	until(20)
	b.pod(30, exited("OOMKilled", 137))
	until(40)
	b.pod(50, ready, "web-1")
	until(400)
	want := fmt.Sprintf("%d probe_failed, %d container_exit, %d container_exit", incident.Started, incident.Changed, incident.Ended)
	equal(t, "notices", strings.Join(heard, ", "), want)
}
