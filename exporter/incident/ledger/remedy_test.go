package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// names holds words that identify each remedy.
var names = map[verdict.Verdict]string{
	verdict.Node:              "Find out what keeps the kubelet on",
	verdict.NodeRebooted:      "restarted without notice",
	verdict.SharedPath:        "zone",
	verdict.ControllerManager: "the kube-controller-manager: its CPU|runs the kube-controller-manager",
	verdict.GracePeriod:       "so less than 20s is always unsafe|sets the grace period of",
	verdict.Planned:           "Nothing is at fault",
	verdict.Undecided:         "the evidence does not show",
}

// acquits holds words in a remedy that would contradict the verdict.
var acquits = map[verdict.Verdict]string{
	verdict.GracePeriod: "is not the cause|no other grace period|grace period is not at fault|grace period are not at fault",
	verdict.SharedPath:  "neither the nodes nor etcd are at fault|etwork are well|The network and the grace period are not at fault|Nothing is at fault",
	verdict.Node:        "neither the nodes nor etcd are at fault|kubelet and the grace period are not at fault|Nothing is at fault",
	verdict.Undecided:   "is not the cause|not at fault|at fault: |are well|Nothing is",
}

func contains(text, any string) bool {
	for word := range strings.SplitSeq(any, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// TestTheRemedyFollowsTheVerdictWhateverTheKind checks that remedies never contradict the verdict. An incident's kind
// depends on its start, but its verdict depends on all evidence.
func TestTheRemedyFollowsTheVerdictWhateverTheKind(t *testing.T) {
	kinds := map[string]incident.Subject{
		"node": {Kind: incident.KindNode, Name: "node-1", Cause: cause.NodeHeartbeatLost}, "control plane": incident.ControlPlaneSubject(),
		"grace period":       {Kind: incident.KindGracePeriod, Name: "kube-controller-manager", Cause: cause.NodeHeartbeatLost},
		"controller manager": {Kind: incident.KindControllerManager, Name: "kube-controller-manager", Cause: cause.NodeHeartbeatLost},
	}
	for kind, subject := range kinds {
		for v, own := range names {
			for _, g := range []advice.GracePeriod{
				{Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second},
				{Period: 10 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second},
				{Period: 10 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second, Managed: true},
			} {
				if v == verdict.GracePeriod && !g.Unsafe() {
					continue
				}
				name := fmt.Sprintf("%s, %s, %s, managed %v", kind, v, g.Period, g.Managed)
				checkRemedy(t, name, own, remedyOf(subject, v, g), v, g)
			}
		}
	}
}

// remedyOf returns the remedy for an incident of three nodes out of nine.
func remedyOf(subject incident.Subject, v verdict.Verdict, g advice.GracePeriod) string {
	s := newLedger(10)
	r := s.Begin(subject, zero, 0)
	r.KnownNodes, r.HeartbeatLost, r.Longest = 9, true, 15*time.Second
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		r.AddNode(node)
		r.AddSilence(&silence.Silence{Node: node, Began: zero, Ended: zero.Add(15 * time.Second)})
	}
	r.Settled, r.latest = true, &verdict.Decision{Verdict: v, Command: "kubectl get events"}
	x := s.snapshot(r, g)
	return x.Remedy
}

func checkRemedy(t *testing.T, name, own, text string, v verdict.Verdict, g advice.GracePeriod) {
	t.Helper()
	if !contains(text, own) {
		t.Errorf("%s: %q is not in the remedy: %s", name, own, text)
	}
	for other, words := range names {
		if other != v && contains(text, words) {
			t.Errorf("%s: it names %s: %s", name, other, text)
		}
	}
	if words := acquits[v]; words != "" && contains(text, words) {
		t.Errorf("%s: the remedy acquits what the verdict blames: %s", name, text)
	}
	if v == verdict.Undecided && !strings.Contains(text, "kubectl get events") {
		t.Errorf("%s: the command that would decide is not in the remedy: %s", name, text)
	}
	if g.Unsafe() && !strings.Contains(text, "unsafe") && !contains(text, "below 20s, a single lost heartbeat|so even healthy nodes exceed the grace period") {
		t.Errorf("%s: a grace period of %s is unsafe whatever the verdict is: %s", name, g.Period, text)
	}
	if g.Unsafe() && !g.Managed && !contains(text, "to 40s") {
		t.Errorf("%s: the grace period to set is not in the remedy: %s", name, text)
	}
}

// TestTheRemedyFollowsTheReasonOfSilences checks that a reason common to all silences determines the remedy for the
// nodes.
func TestTheRemedyFollowsTheReasonOfSilences(t *testing.T) {
	for words, change := range map[string]func(*silence.Silence){
		"Repair the time synchronization of node-1 and 1 more": func(s *silence.Silence) { s.ClockBack = time.Hour },
		"was replaced by a different version":                  func(s *silence.Silence) { s.Upgraded = true },
	} {
		for _, kind := range []incident.Subject{{Kind: incident.KindNode, Name: "node-1", Cause: cause.NodeHeartbeatLost}, incident.ControlPlaneSubject()} {
			s := newLedger(10)
			r := s.Begin(kind, zero, 0)
			for _, node := range []string{"node-1", "node-2"} {
				r.AddNode(node)
				silence := &silence.Silence{Node: node, Began: zero, Ended: zero.Add(time.Minute)}
				change(silence)
				r.AddSilence(silence)
			}
			x := s.snapshot(r, advice.GracePeriod{Period: 40 * time.Second, Default: 40 * time.Second, Longest: time.Minute})
			if !strings.Contains(x.Remedy, words) || x.Verdict != verdict.Node || x.Numbers.RecommendedGracePeriod > 0 {
				t.Errorf("%v: %s, set %s: %s", kind.Kind, x.Verdict, x.Numbers.RecommendedGracePeriod, x.Remedy)
			}
		}
	}
}

func TestTheRemedyOfPlannedDeparturesBlamesNobody(t *testing.T) {
	for _, why := range cause.All() {
		for _, kind := range []incident.Kind{incident.KindWorkload, incident.KindService} {
			s := newLedger(10)
			r := s.Begin(incident.Subject{Kind: kind, Namespace: "shop", Name: "Deployment/web", Cause: why}, zero, 0)
			r.Lose(transition.AddressLost{Cause: why, Announced: "a cordon"}, false)
			x := incident.Incident{Cause: why, Verdict: verdict.Planned}
			r.Describe(&x, advice.GracePeriod{}, zero)
			text := x.Remedy
			if !strings.HasPrefix(text, "Nothing is at fault: the pods left nodes whose departure was announced by a cordon.") {
				t.Errorf("%s: %s", why, text)
			}
		}
	}
}

// TestASummaryNamesNoNumberThatSaysNothing checks numbers that would otherwise grow after what they describe has ended,
// or would be zero.
func TestASummaryNamesNoNumberThatSaysNothing(t *testing.T) {
	web := transition.Service{Namespace: "shop", Name: "web"}
	for want, c := range map[string]struct {
		v       verdict.Verdict
		silence silence.Silence
		change  func(*Record)
	}{
		"left 1 silent node Ready, for up to 60s after the last heartbeat": {
			verdict.ControllerManager, silence.Silence{NotMarked: true, NotMarkedCertain: true, Marked: true, MarkedAt: zero.Add(time.Minute)}, func(*Record) {},
		},
		"Node node-1 sent no heartbeat for 1h":                   {verdict.Node, silence.Silence{}, func(r *Record) { r.Longest = time.Hour }},
		"The node controller treated node node-1 as lost":        {verdict.Node, silence.Silence{Blind: true}, func(r *Record) { r.Longest = 10 * time.Second }},
		"The node controller treated node node-1 as lost, twice": {verdict.Node, silence.Silence{NodeFacts: transition.NodeFacts{Unseen: true}}, func(r *Record) { r.Longest, r.TurnedUnknown = time.Hour, 2 }},
		"lost 1 ready address and has none now": {verdict.Node, silence.Silence{}, func(r *Record) {
			r.Lose(transition.AddressLost{Address: transition.Address{Service: web}}, false)
			r.EffectOn(web).Outages, r.Outages = 1, 1
			r.Fails(incident.OpenOutage(web), zero.Add(time.Hour))
		}},
	} {
		s := newLedger(10)
		r := s.Begin(incident.Subject{Kind: incident.KindNode, Name: "node-1", Cause: cause.NodeHeartbeatLost}, zero, 0)
		r.HeartbeatLost = true
		r.AddNode("node-1")
		c.silence.Node, c.silence.Began = "node-1", zero
		r.AddSilence(&c.silence)
		c.change(r)
		r.Settled, r.latest = true, &verdict.Decision{Verdict: c.v}
		s.now = zero.Add(time.Hour)
		if x := s.snapshot(r, advice.GracePeriod{Period: 40 * time.Second}); !strings.Contains(x.Summary, want) {
			t.Errorf("%q is not in %q", want, x.Summary)
		}
	}
}
