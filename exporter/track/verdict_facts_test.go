package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// renewing returns a cluster with one node that renews its Lease every 10 s until the given second.
func renewing(t *testing.T, until int, o *event.Node) *story {
	s := newStory(t, grace40).starts(o, lease("node-1", 0))
	for at := 10; at <= until; at += 10 {
		s.at(float64(at)).modified(lease("node-1", float64(at)))
	}
	return s
}

func TestAMarkAlthoughTheHeartbeatWasInTime(t *testing.T) {
	for _, c := range []struct {
		name string
		// last is the time of the last heartbeat. mark is the time at which the node controller wrote Unknown, and seen
		// the time at which kubeflap saw it.
		last       int
		mark, seen float64
		age        time.Duration
		inTime     bool
	}{
		{"the newest heartbeat is 8 s old", 100, 108, 108.2, 8200 * time.Millisecond, true},
		{"the newest may be in flight, the one before is 12 s old", 100, 102, 102.2, 12200 * time.Millisecond, true},
		{"silent for longer than the grace period", 100, 143, 143.2, 43200 * time.Millisecond, false},
		{"the write was delayed, or the clocks differ", 100, 95, 108, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := renewing(t, c.last, aNode("node-1", ready, -1000))
			s.at(c.seen).modified(unknownSince("node-1", c.mark))
			all := of[transition.NodeReadyChanged](s)
			if len(all) != 1 {
				t.Fatalf("changes %v, want one", all)
			}
			equal(t, "age of the newest heartbeat that the controller must have seen", all[0].Loss.MarkedAge, c.age)
			equal(t, "in time", all[0].Loss.InTime(), c.inTime)
			equal(t, "counted", s.node("node-1").MarkedInTime == 1, c.inTime)
		})
	}
}

// TestAMarkWhoseWriteHungIsAsOldAsTheControllersClockSays covers a mark whose write hangs while renewals arrive. Its
// lastTransitionTime is by the controller's clock. The leader's Lease shows that this clock is 30 s ahead.
func TestAMarkWhoseWriteHungIsAsOldAsTheControllersClockSays(t *testing.T) {
	const ahead = 30
	for _, c := range []struct {
		name   string
		leads  bool
		last   int
		age    time.Duration
		inTime bool
	}{
		{"the node renewed all the time", true, 120, 8300 * time.Millisecond, true},
		{"the node had been silent, and came back while the write hung", true, 60, 48300 * time.Millisecond, false},
		{"no Lease of the controller manager shows its clock", false, 120, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aNode("node-1", ready, -1000), lease("node-1", 0)).lists(event.KindControlPlaneLease, leader("one", ahead))
			for at := 2; at <= 126; at += 2 {
				s.at(float64(at))
				if at%10 == 0 && (at <= c.last || at >= 110) {
					s.modified(lease("node-1", float64(at)))
				}
				// The leader cannot write from 100 s on.
				if c.leads && at < 100 {
					s.at(float64(at) + 0.3).modified(leader("one", float64(at+ahead)))
				}
			}
			s.at(126.5).modified(unknownSince("node-1", 107+ahead))
			all := of[transition.NodeReadyChanged](s)
			if len(all) != 1 {
				t.Fatalf("changes %v, want one", all)
			}
			equal(t, "age of the newest heartbeat that the controller must have seen", all[0].Loss.MarkedAge, c.age)
			equal(t, "in time", all[0].Loss.InTime(), c.inTime)
		})
	}
}

func TestARebootIsAnotherBootID(t *testing.T) {
	boot := func(id string) *event.Node {
		n := aNode("node-1", ready, -1000)
		n.BootID = id
		return n
	}
	s := renewing(t, 50, boot("a"))
	s.at(60).modified(boot("a")).at(70).modified(boot("")).at(80).modified(boot("a"))
	equal(t, "reboots without another bootID", count[transition.NodeRebooted](s), 0)
	s.at(90).modified(boot("b"))
	equal(t, "reboots", count[transition.NodeRebooted](s), 1)
}

func TestWhatAnnouncesADeparture(t *testing.T) {
	with := func(change func(*event.Node)) *event.Node {
		n := aNode("node-1", ready, -1000)
		change(n)
		return n
	}
	for _, c := range []struct {
		name   string
		change func(*event.Node)
		want   departure.Reason
	}{
		{"nothing", func(*event.Node) {}, ""},
		{"a taint of the Cluster Autoscaler", func(n *event.Node) { n.Taints = []event.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }, departure.Taint},
		{"a taint that follows a failure", func(n *event.Node) { n.Taints = []event.Taint{{Key: "node.kubernetes.io/out-of-service"}} }, ""},
		{"its deletion", func(n *event.Node) { n.DeletionTimestamp = clock(4000) }, departure.Deletion},
		{"a lifecycle condition", func(n *event.Node) {
			n.Lifecycle = []event.LifecycleCondition{{Type: event.DrainInProgress, Status: event.StatusTrue}}
		}, departure.Condition},
		{"a cordon", func(n *event.Node) { n.Unschedulable = true }, departure.Cordon},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := renewing(t, 4000, aNode("node-1", ready, -5000))
			s.at(4001).modified(with(c.change))
			equal(t, "departing", s.node("node-1").Departing, c.want)
			s.at(4045).modified(lease("another", 4045)) // this shows that node-1 sent no heartbeat
			missed := of[transition.HeartbeatMissed](s)
			if len(missed) != 1 {
				t.Fatalf("missed heartbeats %v, want one", missed)
			}
			equal(t, "announced", missed[0].Loss.Announced != "", c.want != "")
		})
	}
}

func TestAnAnnouncementAfterTheSilenceBeganAnnouncesNothing(t *testing.T) {
	tainted := aNode("node-1", ready, -5000)
	tainted.Taints = []event.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	s := renewing(t, 100, aNode("node-1", ready, -5000))
	s.at(120).modified(tainted).at(145).modified(lease("another", 145))
	equal(t, "announced", of[transition.HeartbeatMissed](s)[0].Loss.Announced, "")
}

func TestACordonOfANodeThatFlapsAnnouncesNothing(t *testing.T) {
	cordoned := aNode("node-1", ready, 30)
	cordoned.Unschedulable = true
	s := newStory(t, grace40).starts(aNode("node-1", ready, -1000), lease("node-1", 0))
	s.at(20).modified(aNode("node-1", notReady, 20)).at(30).modified(aNode("node-1", ready, 30))
	s.at(600).modified(cordoned)
	equal(t, "departing", s.node("node-1").Departing, departure.Reason(""))
}

func TestACordonAnnouncesForAnHour(t *testing.T) {
	cordoned := aNode("node-1", ready, -5000)
	cordoned.Unschedulable = true
	s := renewing(t, 4000, aNode("node-1", ready, -5000))
	s.at(4001).modified(cordoned)
	equal(t, "departing after 59 minutes", s.at(4001+59*60).node("node-1").Departing, departure.Cordon)
	equal(t, "departing after 61 minutes", s.at(4001+61*60).node("node-1").Departing, departure.Reason(""))
}

func TestAManagedControlPlaneIsKnownByVersionOrLabel(t *testing.T) {
	aks := aNode("node-1", ready, -1000)
	aks.Labels = map[string]string{"kubernetes.azure.com/agentpool": "blue"}
	for _, c := range []struct {
		name    string
		objects []event.Object
		want    bool
	}{
		{"EKS", []event.Object{server("v1.33.4-eks-0a1b2c3")}, true},
		{"GKE", []event.Object{server("v1.33.4-gke.1134000")}, true},
		{"AKS", []event.Object{server("v1.33.4"), aks}, true},
		{"k3s", []event.Object{server("v1.33.4+k3s1")}, false},
		{"its own controller manager", []event.Object{server("v1.33.4-eks-0a1b2c3"), controllerManager("m", "v1.33.4", 40*time.Second)}, false},
	} {
		s := newStory(t, Settings{BounceWindow: time.Minute}).starts(aNode("node-1", ready, -1000), lease("node-1", 0)).modified(c.objects...)
		s.at(100).modified(unknownSince("node-1", 100))
		equal(t, c.name, of[transition.NodeReadyChanged](s)[0].Loss.Managed, c.want)
	}
}

func TestALossNamesWhatTheNodeSharesWithOthers(t *testing.T) {
	inZone := func(name, zone string) *event.Node {
		n := aNode(name, ready, -1000)
		n.Labels = map[string]string{"topology.kubernetes.io/zone": zone, "app": "web"}
		return n
	}
	s := newStory(t, grace40).starts(inZone("node-1", "a"), inZone("node-2", "a"), inZone("node-3", "b"), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10)).deleted(inZone("node-2", "a")).modified(inZone("node-3", "a"))
	s.at(55).modified(lease("another", 55))
	missed := of[transition.HeartbeatMissed](s)
	if len(missed) == 0 || len(missed[0].Loss.Labels) != 1 {
		t.Fatalf("missed heartbeats %v, want one with its zone", missed)
	}
	equal(t, "label", missed[0].Loss.Labels[0], transition.NodeLabel{Key: "topology.kubernetes.io/zone", Value: "a", Nodes: 2})
}
