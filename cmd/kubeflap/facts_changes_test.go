package main

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// factChange is a fact in the form in which kubeflap reports it. The lab's recorder and kubeflap must have the same changes
// of each object, in the same order.
type factChange struct {
	seen    time.Time
	what    string
	cause   string
	seconds float64
	// optional is set for changes just before the Service was deleted.
	optional bool
}

// changes holds the changes of each object.
type changes map[string][]factChange

func (c changes) add(key string, x factChange) { c[key] = append(c[key], x) }

// sort sorts by time. kubeflap reports a change later than the change itself if it waits for evidence of the cause.
func (c changes) sort() {
	for _, all := range c {
		slices.SortStableFunc(all, func(a, b factChange) int { return a.seen.Compare(b.seen) })
	}
}

// expected returns the changes of a segment.
func (x *facts) expected(segment int) changes {
	all := changes{}
	// wasReady holds the pods that have been Ready. kubeflap does not report that a new pod becomes Ready.
	wasReady := map[string]bool{}
	for _, f := range x.all {
		if !x.within(segment, f.Seen) {
			continue
		}
		if f.Kind == "pod" {
			starts := f.To == "True" && !wasReady[f.Object]
			wasReady[f.Object] = f.To != absent && (f.To == "True" || wasReady[f.Object] && f.From != absent)
			if starts {
				continue
			}
		}
		if !f.isStart() {
			f.addTo(all)
		}
	}
	return all
}

func (f *fact) addTo(all changes) {
	one := factChange{seen: f.Seen, cause: f.Cause, seconds: f.Seconds}
	key := f.Kind + " " + f.Object
	switch f.Kind {
	case "address":
		if one.what = addressChange(f.From, f.To); one.what == "" {
			return
		}
		key += " " + addressUID(f.Address).String()
	case "heartbeat":
		if f.Seconds == 0 { // kubeflap reports no heartbeat without an interval
			return
		}
	case "node":
		if f.From == absent {
			return
		}
		one.what = strings.ToLower(f.From + " to " + f.To)
		if f.To == absent {
			one.what = "removed"
		}
	case "pod":
		if f.From == absent || f.To == absent {
			return
		}
		one.what = f.From + " to " + f.To
	case "service":
		if f.To != absent {
			return
		}
		one.what = "removed"
		all.makeOptional("address "+f.Object+" ", f.Seen)
	case "restart":
		n, _ := strconv.Atoi(f.To)
		for range n - 1 {
			all.add(key, one)
		}
	default:
		one.what = f.To
	}
	all.add(key, one)
}

// makeOptional marks the changes of a Service that was deleted at the given time. kubeflap reports a loss when it knows
// the cause, and the following changes of this address after it. It reports neither of them if the Service is deleted
// first. This concerns deletions that kubeflap sees on its watch.
func (c changes) makeOptional(service string, deleted time.Time) {
	const causeWithin = 15 * time.Second
	for key, all := range c {
		waits := false
		for i := range all {
			if strings.HasPrefix(key, service) && deleted.Sub(all[i].seen) < causeWithin {
				waits = waits || strings.HasPrefix(all[i].what, "lost")
				all[i].optional = waits
			}
		}
	}
}

// addressChange returns what kubeflap reports if an address changes between two states. It returns "" if kubeflap
// reports nothing: a terminating address does not belong to its Service.
func addressChange(from, to string) string {
	member := func(state string) bool { return state == "ready" || state == "not_ready" }
	switch {
	case !member(from) && to == "ready":
		return "added ready"
	case !member(from) && to == "not_ready":
		return "added"
	case from == "not_ready" && to == "ready":
		return "ready"
	case from == "ready" && to == "not_ready":
		return "lost"
	case from == "ready":
		return "lost and removed"
	case from == "not_ready":
		return "removed"
	}
	return ""
}

func addressUID(address string) event.UID {
	if _, err := netip.ParseAddr(address); err == nil {
		return event.AddressUID(address)
	}
	return event.ParseUID(address)
}

// factReporter is a reporter that keeps and counts kubeflap's changes.
type factReporter struct {
	all     changes
	counted counters
}

func (r *factReporter) incident(time.Time, incident.Notice) {}

func (r *factReporter) transition(x transition.Transition) {
	one := factChange{seen: x.When()}
	add := func(kind, object, what string) {
		one.what = what
		r.all.add(kind+" "+object, one)
		if seen, ok := x.(transition.HeartbeatSeen); !ok || !seen.Unwatched {
			r.counted.count(kind, object, what)
		}
	}
	address := func(a transition.Address, what string) {
		add("address", a.Namespace+"/"+a.Name+" "+a.ID.String(), what)
	}
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		one.seconds = x.Interval.Seconds()
		add("heartbeat", x.Node, "")
	case transition.HeartbeatLate:
		add("late", x.Node, "")
	case transition.HeartbeatMissed:
		add("missed", x.Node, "")
	case transition.NodeReadyChanged:
		add("node", x.Node, x.From.String()+" to "+x.To.String())
	case transition.NodeRemoved:
		add("node", x.Node, "removed")
	case transition.AddressAdded:
		address(x.Address, map[bool]string{true: "added ready", false: "added"}[x.Ready])
	case transition.AddressReady:
		address(x.Address, "ready")
	case transition.AddressLost:
		one.cause = x.Cause.String()
		address(x.Address, map[bool]string{true: "lost and removed", false: "lost"}[x.Removed])
	case transition.AddressRemoved:
		address(x.Address, "removed")
	case transition.ServiceRemoved:
		add("service", x.Namespace+"/"+x.Name, "removed")
	case transition.OutageStarted:
		add("outage", x.Namespace+"/"+x.Name, "")
	case transition.EndpointsReset:
		add("reset", x.Namespace+"/"+x.Name, map[bool]string{true: "selector", false: "no_selector"}[x.BySelector])
	case transition.PodReadyChanged:
		add("pod", x.Namespace+"/"+x.Name, podStatus(x.From)+" to "+podStatus(x.To))
	case transition.PodUpdatedInPlace:
		add("image", x.Namespace+"/"+x.Name, "")
	case transition.PodRestartedSilently:
		add("restart", x.Namespace+"/"+x.Name, "")
	}
}

func podStatus(s event.Status) string {
	if s == event.StatusTrue {
		return "True"
	}
	return "False"
}
