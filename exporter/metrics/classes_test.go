package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// outage is a story about nodes that fall silent, in virtual time. The grace period is 40 s. Each node renews its Lease
// every 10 s, one second after the node before it.
type outage struct {
	t       *testing.T
	tracker *track.Tracker
	c       *Collector
	now     int // in seconds
	silent  map[string]bool
	nodes   map[string]*event.Node
	text    *strings.Builder
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (s *outage) at(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }

func newOutage(t *testing.T, text *strings.Builder, nodes int) *outage {
	s := &outage{t: t, silent: map[string]bool{}, nodes: map[string]*event.Node{}, text: text}
	s.tracker = track.New(track.Settings{GracePeriod: 40 * time.Second})
	s.c = NewCollector(s.tracker, correlate.New(100), func() time.Time { return s.at(s.now) })
	list := map[event.Kind][]event.Object{}
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		s.nodes[name] = &event.Node{Meta: event.Meta{UID: event.ParseUID(name), Name: name}, Ready: &event.Condition{Status: event.StatusTrue}}
		list[event.KindNode] = append(list[event.KindNode], s.nodes[name])
		list[event.KindLease] = append(list[event.KindLease], s.lease(name, i-10))
	}
	for _, k := range event.Kinds() {
		s.apply(event.Listing, k, nil)
		for _, o := range list[k] {
			s.apply(event.Listed, k, o)
		}
		s.apply(event.Synced, k, nil)
	}
	return s
}

func (s *outage) apply(is event.Type, k event.Kind, o event.Object) {
	feed(s.c, s.tracker)(event.Event{Seen: s.at(s.now), Kind: k, Type: is, Object: o})
}

func (s *outage) lease(name string, renewed int) *event.Lease {
	return &event.Lease{Meta: event.Meta{UID: event.ParseUID("lease/" + name), Namespace: "kube-node-lease", Name: name}, RenewTime: s.at(renewed), DurationSeconds: 40}
}

// until renews Leases until the given second.
func (s *outage) until(second int) *outage {
	for s.now < second {
		s.now++
		name := fmt.Sprint("node-", s.now%10)
		if s.nodes[name] != nil && !s.silent[name] {
			s.apply(event.Modified, event.KindLease, s.lease(name, s.now))
		}
	}
	return s
}

func (s *outage) falls(silent ...string) *outage {
	for _, name := range silent {
		s.silent[name] = true
	}
	return s
}

// turns changes the status of a node's Ready condition. Unknown comes from the node controller.
func (s *outage) turns(name string, status event.Status) *outage {
	n := *s.nodes[name]
	n.Ready = &event.Condition{Status: status, LastTransitionTime: s.at(s.now)}
	if status == event.StatusUnknown {
		n.Ready.Reason = "NodeStatusUnknown"
	}
	s.nodes[name] = &n
	s.apply(event.Modified, event.KindNode, &n)
	return s
}

// returns ends a node's silence.
func (s *outage) returns(name string) *outage {
	delete(s.silent, name)
	s.apply(event.Modified, event.KindLease, s.lease(name, s.now))
	return s.turns(name, event.StatusTrue)
}

func (s *outage) taint(name string) *outage {
	n := *s.nodes[name]
	n.Taints = []event.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Added: s.at(s.now)}}
	s.nodes[name] = &n
	s.apply(event.Modified, event.KindNode, &n)
	return s
}

// adds adds a node that has not been Ready yet.
func (s *outage) adds(name string) *outage {
	s.nodes[name] = &event.Node{Meta: event.Meta{UID: event.ParseUID(name), Name: name}, Ready: &event.Condition{Status: event.StatusFalse}}
	s.apply(event.Added, event.KindNode, s.nodes[name])
	return s
}

func (s *outage) deletes(name string) *outage {
	s.apply(event.Deleted, event.KindNode, s.nodes[name])
	delete(s.nodes, name)
	return s
}

// show writes the series with a class, and the numbers of nodes in incidents, except those that are always 0.
func (s *outage) show(what string) *outage {
	fmt.Fprintf(s.text, "%d s: %s\n", s.now, what)
	for line := range strings.Lines(exposed(s.t, familiesOf(s.t, pageOf(s.c)))) {
		is := func(name string) bool { return strings.HasPrefix(line, name) }
		isZero := strings.HasSuffix(line, " 0\n")
		if is("kubeflap_node_silence_start") || !isZero && (is("kubeflap_node_unready_total") || is("kubeflap_node_unready_seconds_total") || is("kubeflap_incident_nodes")) {
			fmt.Fprint(s.text, "  ", strings.TrimPrefix(line, "kubeflap_"))
		}
	}
	return s
}

// TestClassesOfNodes shows each class of silences and of periods of not Ready, and each change from one to another.
func TestClassesOfNodes(t *testing.T) {
	var text strings.Builder
	begin := func(name string, nodes int) *outage {
		fmt.Fprintf(&text, "\n=== %s\n", name)
		return newOutage(t, &text, nodes)
	}
	s := begin("A node falls silent, and returns", 4).until(95).falls("node-1").until(130).show("late").until(132).show("silent for longer than the grace period")
	s.until(133).turns("node-1", event.StatusUnknown).until(150).show("decided").until(300).returns("node-1").until(302).show("back")
	s.until(480).show("180 s after the return").until(481).show("181 s after the return").until(300 + 3599).show("almost an hour after the return").until(300 + 3662).show("later")

	s = begin("The departure was announced", 4).until(60).taint("node-1").until(95).falls("node-1").until(135).turns("node-1", event.StatusUnknown)
	s.until(150).show("announced").until(1000).show("still silent").deletes("node-1").until(1001).show("deleted").until(1600).show("10 minutes later").until(1601).show("after that")

	s = begin("The announcement lapsed", 4).until(60).taint("node-1").until(1895).falls("node-1").until(1935).turns("node-1", event.StatusUnknown)
	s.until(1950).show("31 minutes after the announcement")

	s = begin("The announcement came later", 4).until(95).falls("node-1").until(120).taint("node-1").until(135).turns("node-1", event.StatusUnknown)
	s.until(150).show("announced when the node was late")

	s = begin("A silent Node is deleted without an announcement", 4).until(95).falls("node-1").until(135).turns("node-1", event.StatusUnknown)
	s.until(200).deletes("node-1").until(201).show("deleted").until(800).show("10 minutes later").until(801).show("after that").until(3862).show("an hour later")

	s = begin("Another node is late meanwhile", 4).until(95).falls("node-1").until(105).falls("node-2").until(134).show("the first node exceeds the grace period")
	s.until(140).returns("node-2").until(170).show("the other node is back")

	s = begin("Four of nine nodes fall silent together", 9).until(99).falls("node-1", "node-2", "node-3", "node-4")
	s.until(136).show("all exceed it").until(160).show("decided")

	s = begin("Node after node", 9)
	for i, name := range []string{"node-1", "node-2", "node-3", "node-4"} {
		s.until(95 + 400*i).falls(name).until(150 + 400*i).show(name + " is silent")
		if i > 0 {
			s.returns(name)
		}
	}
	s.show("the last is back")

	s = begin("Ready=False", 4).until(100).turns("node-1", event.StatusFalse).until(160).show("not Ready").turns("node-1", event.StatusTrue).until(170).show("Ready")
	s.taint("node-1").until(180).turns("node-1", event.StatusFalse).until(190).turns("node-1", event.StatusUnknown).until(200).show("not Ready after an announcement")

	s = begin("Counting starts during a period and a silence", 4).until(95).falls("node-1").until(60).until(133).turns("node-1", event.StatusUnknown).until(150).show("before")
	s.tracker.StartCounting(s.at(s.now))
	s.show("counters start").until(200).show("50 s later").returns("node-1").until(210).show("back")

	s = begin("A new node is not Ready for a minute, and then again", 1).until(10).adds("node-1").until(70).turns("node-1", event.StatusTrue).until(80).show("Ready")
	s.turns("node-1", event.StatusFalse).until(90).show("not Ready")
	golden(t, "testdata/classes.txt", strings.TrimPrefix(text.String(), "\n"))
}
