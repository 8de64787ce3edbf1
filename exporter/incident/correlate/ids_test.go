package correlate

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func aNodeOf(name string, status event.Status, reason string) *event.Node {
	return &event.Node{
		Meta:  event.Meta{UID: event.ParseUID("node/" + name), Name: name},
		Ready: &event.Condition{Status: status, Reason: reason, LastHeartbeatTime: zero, LastTransitionTime: zero},
	}
}

func aLease(node string, renewed float64) *event.Lease {
	return &event.Lease{Meta: event.Meta{Namespace: "kube-node-lease", Name: node}, RenewTime: zero.Add(seconds(renewed))}
}

// nodeLost returns the incident of a node that stops sending heartbeats, as reported by a kubeflap that starts after
// the given number of seconds. The parameter later is the delay in seconds with which this kubeflap sees events.
func nodeLost(start, later float64) incident.Incident {
	b := newTracked(grace40).at(start+later).starts(aNodeOf("a", event.StatusTrue, ""), aNodeOf("b", event.StatusTrue, ""), aLease("a", 0), aLease("b", 0))
	for at := 10.0; at <= 100; at += 10 {
		if b.at(at + later); at <= 30 && at > start {
			b.is(event.Modified, aLease("a", at))
		}
		if at > start {
			b.is(event.Modified, aLease("b", at))
		}
	}
	for _, x := range b.asOf(100 + later) {
		return x
	}
	return incident.Incident{}
}

func TestIDOfANodesIncidentIsMadeFromItsLastHeartbeat(t *testing.T) {
	first := nodeLost(0, 0)
	if first.ID == "" || first.Subject != "a" {
		t.Fatalf("no incident of the node: %+v", first)
	}
	for what, other := range map[string]incident.Incident{"one that started later": nodeLost(15, 0), "one that sees all later": nodeLost(0, 1.5)} {
		if other.ID != first.ID {
			t.Errorf("%s calls it %s, not %s", what, other.ID, first.ID)
		}
	}
}

func TestIDsOfAServicesIncidentsAreMadeFromTheFirstWrite(t *testing.T) {
	incidents := func(start float64) []incident.Incident {
		b := newTracked(grace40).at(start).starts(aService("web", "uid", false))
		removed := func(at float64, version string) {
			written, empty := manualEndpoints("192.0.2.1"), manualEndpoints()
			written.ResourceVersion, empty.ResourceVersion = version, version+"1"
			b.at(at).is(event.Modified, written)
			b.at(at+10).is(event.Modified, empty)
			b.at(at+20).is(event.Modified, manualEndpoints("192.0.2.1"))
			b.at(at+30).is(event.Deleted, manualEndpoints("192.0.2.1"))
		}
		removed(100, "7")
		removed(1000, "9")
		return b.asOf(2000)
	}
	first, second := incidents(0), incidents(50)
	if len(first) != 2 || len(second) != 2 || first[0].ID == first[1].ID {
		t.Fatalf("want two incidents of each: %v, %v", first, second)
	}
	for i := range first {
		if first[i].ID != second[i].ID {
			t.Errorf("they call it %s and %s", first[i].ID, second[i].ID)
		}
	}
}

func TestIncidentsThatBeganWithTheSameWriteHaveDifferentIDs(t *testing.T) {
	l := New(10)
	l.Observe(transition.SelectorConflict{At: transition.At{Time: zero}, Service: shopWeb, Trigger: 7})
	l.Observe(transition.SelectorConflictEnded{At: transition.At{Time: zero.Add(seconds(10))}, Service: shopWeb})
	l.Observe(transition.SelectorConflict{At: transition.At{Time: zero.Add(seconds(500))}, Service: shopWeb, Trigger: 7})
	if all := l.Incidents(zero.Add(seconds(510))); len(all) != 2 || all[0].ID == all[1].ID {
		t.Errorf("want two with IDs of their own: %+v", all)
	}
}
