package correlate

import (
	"math"
	"slices"
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
	if all := l.Incidents(zero.Add(seconds(510))); len(all) != 2 || short(all[0].ID) == short(all[1].ID) {
		t.Errorf("want two with IDs of their own: %+v", all)
	}
}

// short returns the part of an ID that tables show.
func short(id string) string { return id[:8] }

// answers reports whether one of the incidents has the ID, now or as a former one.
func answers(all []incident.Incident, id string) bool {
	return slices.ContainsFunc(all, func(x incident.Incident) bool { return x.ID == id || slices.Contains(x.Also, id) })
}

// outageSeenFrom returns the incidents of an outage of four nodes, as seen by a kubeflap that starts after the given
// number of seconds. The last renewals of the nodes are on both sides of a full ten minutes.
func outageSeenFrom(start float64) []incident.Incident {
	names := []string{"node-4", "node-3", "node-2", "node-1", "node-5", "node-6"}
	last := []float64{597, 601, 602, 603, 0, 0}
	renewed := func(i int, at float64) float64 {
		phase := []float64{7, 1, 2, 3, 5, 6}[i]
		r := math.Floor((at-phase)/10)*10 + phase
		if last[i] > 0 {
			r = min(r, last[i])
		}
		return r
	}
	b := newTracked(grace40).at(start)
	var objects []event.Object
	for i, name := range names {
		objects = append(objects, aNodeOf(name, event.StatusTrue, ""), aLease(name, renewed(i, start)))
	}
	b.starts(objects...)
	for at := math.Floor(start) + 1; at <= 720; at++ {
		b.at(at)
		for i, name := range names {
			if renewed(i, at) == at {
				b.is(event.Modified, aLease(name, at))
			}
		}
		b.asOf(at)
	}
	return b.asOf(720)
}

func TestReplicasThatSawTheSameOutageAnswerToEachOthersIDs(t *testing.T) {
	early, late := outageSeenFrom(500), outageSeenFrom(645)
	if len(early) != 1 || len(late) != 1 {
		t.Fatalf("want one incident each: %v, %v", summaries(early), summaries(late))
	}
	if !answers(late, early[0].ID) || !answers(early, late[0].ID) {
		t.Errorf("the IDs are %s and %s; also %v and %v", early[0].ID, late[0].ID, early[0].Also, late[0].Also)
	}
}
