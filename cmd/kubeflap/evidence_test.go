package main

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// evidence is what decides a verdict, and how to remove it from a recording.
type evidence struct {
	verdict string
	// because matches the reason why the verdict holds.
	because *regexp.Regexp
	remove  func(events []event.Event, x *pageIncident) []event.Event
}

// allEvidence lists the deciding facts of all verdicts, apart from undecided.
var allEvidence = []evidence{
	{"planned", words(`announced by|was planned|left nodes whose departure|were evicted`), withoutAnnouncements},
	{"node_rebooted", words(`a new bootID`), func(events []event.Event, _ *pageIncident) []event.Event { return unchanging(events, "Node.BootID") }},
	{"grace_period", words(`at most one heartbeat was lost`), func(events []event.Event, _ *pageIncident) []event.Event { return withoutMarks(withoutPeriod(events)) }},
	{"controller_manager", words(`although the newest heartbeat was younger`), withoutHeartbeatsBeforeMarks},
	{"controller_manager", words(`still Ready, while the API server answered`), func(events []event.Event, _ *pageIncident) []event.Event { return withoutPeriod(events) }},
	{"shared_path", words(`fell silent|became late`), withOneSilentNode},
	{"node", words(`sent their heartbeats on time|sent heartbeats when|no other node to compare with`), withoutOthersInTime},
	{"node", words(`was set back`), withoutClockSteps},
	{"node", words(`was upgraded`), func(events []event.Event, x *pageIncident) []event.Event {
		return withoutOthersInTime(unchanging(events, "Node.KubeletVersion"), x)
	}},
	{"node", words(`reported the node as not ready, or restarted`), withoutReports},
	{"endpoints_controller", words(``), withoutSelector},
	{"foreign_writer", words(``), withoutWriters},
	{"service_spec", words(``), withoutChangesOfServices},
	{"update_in_place", words(``), func(events []event.Event, _ *pageIncident) []event.Event {
		return unchanging(events, "Container.Image")
	}},
	{"workload", words(``), withoutChangesOfPods},
}

func words(expression string) *regexp.Regexp { return regexp.MustCompile(expression) }

// decidedBy returns the evidence for the incident's verdict.
func (x *pageIncident) decidedBy() *evidence {
	for _, c := range x.Considered {
		if c.Verdict == x.Verdict && c.Holds == verdict.Yes {
			for i := range allEvidence {
				if e := &allEvidence[i]; e.verdict == x.Verdict.String() && e.because.MatchString(c.Because) {
					return e
				}
			}
		}
	}
	return nil
}

// isStillIn reports whether one of the incidents has the verdict of this one about the same at the same time.
func (x *pageIncident) isStillIn(all []pageIncident) bool {
	ended := func(y *pageIncident) time.Time {
		if y.End.IsZero() {
			return y.Start.Add(24 * time.Hour)
		}
		return y.End.Add(time.Minute)
	}
	return slices.ContainsFunc(all, func(y pageIncident) bool {
		same := len(x.Nodes) == 0 && y.Namespace == x.Namespace && y.Subject == x.Subject || slices.ContainsFunc(y.Nodes, func(n string) bool { return slices.Contains(x.Nodes, n) })
		return y.Withdrawn == "" && y.Verdict == x.Verdict && same && y.Start.Before(ended(x)) && x.Start.Before(ended(&y))
	})
}

// without returns the events that do not match.
func without(events []event.Event, match func(*event.Event) bool) []event.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return match(&e) })
}

// replaced returns events with changed copies of some objects. change returns nil for the others.
func replaced(events []event.Event, change func(event.Object) event.Object) []event.Event {
	all := slices.Clone(events)
	for i := range all {
		if all[i].Object != nil {
			if o := change(all[i].Object); o != nil {
				all[i].Object = o
			}
		}
	}
	return all
}

// changed returns a changed copy of an object.
func changed[T event.Object](o T, change func(T)) event.Object {
	c := clustertest.Copy(o).(T)
	change(c)
	return c
}

// unchanging returns the events in which a text of an object never changes.
func unchanging(events []event.Event, field string) []event.Event {
	first, of := map[string]string{}, ""
	all := slices.Clone(events)
	for i := range all {
		if all[i].Object == nil {
			continue
		}
		of = fmt.Sprint(all[i].Kind, all[i].Object.Metadata().Namespace, all[i].Object.Metadata().Name)
		all[i] = edited(all[i:i+1], func(name string, v reflect.Value) {
			if name != field {
				return
			}
			if _, known := first[of]; !known {
				first[of] = v.String()
			}
			v.SetString(first[of])
		})[0]
	}
	return all
}

func withoutAnnouncements(events []event.Event, _ *pageIncident) []event.Event {
	return replaced(events, func(o event.Object) event.Object {
		switch o := o.(type) {
		case *event.Node:
			return changed(o, func(n *event.Node) {
				n.Unschedulable, n.Lifecycle, n.DeletionTimestamp = false, nil, time.Time{}
				n.Taints = slices.DeleteFunc(n.Taints, func(t event.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/un") })
			})
		case *event.Pod:
			return changed(o, func(p *event.Pod) { p.Disruption = "" })
		}
		return nil
	})
}

// withoutPeriod removes all that shows the grace period, and who leads.
func withoutPeriod(events []event.Event) []event.Event {
	events = without(events, func(e *event.Event) bool { return e.Kind == event.KindControlPlaneLease && e.Object != nil })
	return replaced(events, func(o event.Object) event.Object {
		if p, ok := o.(*event.Pod); ok && p.ControllerManager != nil {
			return changed(p, func(p *event.Pod) { p.ControllerManager = nil })
		}
		return nil
	})
}

// withoutMarks removes when nodes were marked, from which kubeflap learns the grace period.
func withoutMarks(events []event.Event) []event.Event {
	return replaced(events, func(o event.Object) event.Object {
		if n, ok := o.(*event.Node); ok && n.Ready != nil && n.Ready.Status == event.StatusUnknown {
			return changed(n, func(n *event.Node) { n.Ready.LastTransitionTime = time.Time{} })
		}
		return nil
	})
}

// withoutHeartbeatsBeforeMarks removes the heartbeats of a grace period and some seconds before each mark.
func withoutHeartbeatsBeforeMarks(events []event.Event, x *pageIncident) []event.Event {
	marked := map[string][]time.Time{}
	for _, e := range events {
		if n, ok := e.Object.(*event.Node); ok && n.Ready != nil && n.Ready.Status == event.StatusUnknown {
			marked[n.Name] = append(marked[n.Name], e.Seen)
		}
	}
	isBefore := func(e *event.Event) bool {
		return e.Object != nil && (e.Kind == event.KindLease || e.Kind == event.KindNode) && slices.ContainsFunc(marked[e.Object.Metadata().Name], func(at time.Time) bool {
			return e.Seen.Before(at) && at.Sub(e.Seen) < time.Duration(x.Numbers.GracePeriod)+3*time.Second
		})
	}
	return without(events, func(e *event.Event) bool {
		return isBefore(e) && (e.Type == event.Modified || e.Type == event.DirectReadLease)
	})
}

// withoutNodes removes Nodes and their Leases.
func withoutNodes(events []event.Event, match func(name string) bool) []event.Event {
	return without(events, func(e *event.Event) bool {
		return e.Object != nil && (e.Kind == event.KindLease || e.Kind == event.KindNode) && match(e.Object.Metadata().Name)
	})
}

// withOneSilentNode removes all nodes whose heartbeats were ever late, apart from one of the incident.
func withOneSilentNode(events []event.Event, x *pageIncident) []event.Event {
	last, late := map[string]time.Time{}, map[string]bool{}
	for _, e := range events {
		if e.Object == nil || e.Kind != event.KindLease && e.Kind != event.KindNode {
			continue
		}
		name := e.Object.Metadata().Name
		if at, known := last[name]; known && e.Seen.Sub(at) > 20*time.Second {
			late[name] = true
		}
		last[name] = e.Seen
	}
	end := events[len(events)-1].Seen
	return withoutNodes(events, func(name string) bool {
		return name != x.Nodes[0] && (late[name] || end.Sub(last[name]) > 20*time.Second || slices.Contains(x.Nodes, name))
	})
}

// clockBehind returns by how many seconds the clocks of nodes are behind, or 0 if it is less than a minute.
func clockBehind(events []event.Event, isOwn func(*event.Event) bool) float64 {
	behind := math.Inf(1)
	for _, e := range events {
		if l, ok := e.Object.(*event.Lease); ok && e.Type == event.Modified && isOwn(&e) {
			behind = min(behind, e.Seen.Sub(l.RenewTime).Seconds())
		}
	}
	if behind < 60 || math.IsInf(behind, 1) {
		return 0
	}
	return behind
}

// withoutOthersInTime lets all other nodes be silent while a node of the incident is: their heartbeats of that time are
// removed, and lists and direct reads show older ones.
func withoutOthersInTime(events []event.Event, x *pageIncident) []event.Event {
	var silences [][2]float64
	begin, last := events[0].Seen, math.Inf(-1)
	heartbeat := func(e *event.Event) (second float64, ok bool) {
		var at time.Time
		switch o := e.Object.(type) {
		case *event.Lease:
			at = o.RenewTime
		case *event.Node:
			if o.Ready != nil {
				at = o.Ready.LastHeartbeatTime
			}
		}
		return at.Sub(begin).Seconds(), !at.IsZero()
	}
	isOwn := func(e *event.Event) bool { return slices.Contains(x.Nodes, e.Object.Metadata().Name) }
	behind := clockBehind(events, isOwn)
	for _, e := range events {
		if at, ok := heartbeat(&e); ok && isOwn(&e) && at+behind > last {
			at += behind
			if at-last > 20 {
				silences = append(silences, [2]float64{last + 4, at - 4})
			}
			last = at
		}
	}
	silences = append(silences, [2]float64{last + 4, math.Inf(1)})
	all := slices.Clone(events)
	for i := range all {
		e := &all[i]
		at, ok := heartbeat(e)
		j := slices.IndexFunc(silences, func(s [2]float64) bool { return at >= s[0] && at < s[1] })
		if !ok || j < 0 || isOwn(e) || math.IsInf(silences[j][0], -1) {
			continue
		}
		since := begin.Add(seconds(silences[j][0]))
		switch o := e.Object.(type) {
		case *event.Lease:
			e.Object = changed(o, func(l *event.Lease) { l.RenewTime = since })
		case *event.Node:
			e.Object = changed(o, func(n *event.Node) { n.Ready.LastHeartbeatTime = since })
		}
		if e.Type == event.Modified {
			e.Type = 0
		}
	}
	return without(all, func(e *event.Event) bool { return e.Type == 0 })
}

// withoutClockSteps sets the clocks of nodes to the right time. The next renewal shows what a clock said at a list.
func withoutClockSteps(events []event.Event, _ *pageIncident) []event.Event {
	all, behind := slices.Clone(events), map[string]time.Duration{}
	for i, e := range slices.Backward(all) {
		l, ok := e.Object.(*event.Lease)
		if !ok {
			continue
		}
		if e.Type == event.Modified {
			if behind[l.Name] = e.Seen.Sub(l.RenewTime); behind[l.Name].Abs() < 5*time.Second {
				behind[l.Name] = 0
			}
		}
		all[i].Object = changed(l, func(l *event.Lease) { l.RenewTime = l.RenewTime.Add(behind[l.Name]) })
	}
	return all
}

// withoutReports removes what kubelets report about their nodes and pods.
func withoutReports(events []event.Event, x *pageIncident) []event.Event {
	events = without(events, func(e *event.Event) bool {
		p, ok := e.Object.(*event.Pod)
		return ok && e.Type == event.Modified && slices.Contains(x.Nodes, p.Node)
	})
	return replaced(events, func(o event.Object) event.Object {
		if n, ok := o.(*event.Node); ok && n.Ready != nil && n.Ready.Status == event.StatusFalse {
			return changed(n, func(n *event.Node) {
				n.Ready.Status, n.Ready.Reason, n.Ready.Message = event.StatusTrue, "KubeletReady", ""
			})
		}
		return nil
	})
}
