package correlate

import (
	"strings"
	"testing"
	"unicode"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// says returns a node that has been not Ready since the given second, or Ready if the message is empty.
func says(since float64, message string, problems ...event.Problem) *event.Node {
	ready := &event.Condition{Status: event.StatusTrue, Reason: "KubeletReady", LastTransitionTime: zero.Add(seconds(since))}
	if message != "" {
		ready.Status, ready.Reason, ready.Message = event.StatusFalse, "KubeletNotReady", message
	}
	return &event.Node{Meta: event.Meta{Name: "node-1", UID: event.ParseUID("node-1")}, Ready: ready, Problems: problems}
}

func problem(since float64, condition, message string) event.Problem {
	return event.Problem{Type: condition, Reason: "Because", Message: message, LastTransitionTime: zero.Add(seconds(since))}
}

func (b *tracked) only(t *testing.T) incident.Incident {
	t.Helper()
	all := b.log.Incidents(b.now)
	if len(all) != 1 {
		t.Fatalf("%d incidents, want 1: %s", len(all), summaries(all))
	}
	return all[0]
}

func evidenceOf(x *incident.Incident) (text string) {
	for _, e := range x.Evidence {
		text += e.Text + "\n"
	}
	return text
}

func TestTheWordsOfTheKubeletAreKeptAfterTheRecovery(t *testing.T) {
	b := newTracked(grace40)
	old := problem(-2000, "KernelDeadlock", "task docker:7 blocked for more than 120 seconds.")
	b.at(0).lists(event.KindNode, says(-5000, "", old))
	b.at(100).is(event.Modified, says(100, "PLEG is not healthy: pleg was last seen active 3m1.2s ago; threshold is 3m0s", old))
	x := b.only(t)
	if !strings.Contains(x.Summary, `reported the node as not ready ("PLEG is not healthy: pleg was last seen active 3m1.2s ago; threshold is 3m0s")`) {
		t.Error(x.Summary)
	}
	disk := problem(105, "DiskPressure", "kubelet has disk pressure")
	b.at(110).is(event.Modified, says(100, "PLEG is not healthy: pleg was last seen active 3m11.2s ago; threshold is 3m0s", old, disk))
	b.at(120).is(event.Modified, says(100, "[container runtime is down, PLEG is not healthy: pleg was last seen active 3m21.2s ago; threshold is 3m0s]", old, disk))
	b.at(200).is(event.Modified, says(200, "", old))
	b.at(500)
	x = b.only(t)
	equal(t, "state", x.State, incident.StateResolved)
	want := `node-1: the kubelet itself reports Ready=False: KubeletNotReady: PLEG is not healthy: pleg was last seen active 3m1.2s ago; threshold is 3m0s; at last KubeletNotReady: [container runtime is down, PLEG is not healthy: pleg was last seen active 3m21.2s ago; threshold is 3m0s]
node-1: condition DiskPressure turned True: Because: kubelet has disk pressure
node-1: Ready again after 100s
`
	if got := evidenceOf(&x); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.HasPrefix(x.Remedy, "Check the container runtime on node-1") || !strings.Contains(x.Remedy, "DiskPressure") || strings.Contains(x.Remedy, "KernelDeadlock") {
		t.Error(x.Remedy)
	}
}

func TestTheWordsOfTheKubeletAreBoundedAndPrintable(t *testing.T) {
	b := newTracked(grace40)
	b.at(0).lists(event.KindNode, says(-5000, ""))
	b.at(100).is(event.Modified, says(100, strings.Repeat("\x1b[31m\u202e\n", 5000), problem(100, strings.Repeat("x", 5000), strings.Repeat("\n", 5000))))
	x := b.only(t)
	for _, text := range []string{x.Summary, x.Remedy, evidenceOf(&x)} {
		if len(text) > 4000 || strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestAShutdownExplainsTheSilenceAndTheReboot(t *testing.T) {
	s := newScenario(t)
	s.at(10).beats("node-1", "node-2", "node-3", "node-4")
	of := func() transition.OfNode { return transition.OfNode{At: s.is(), Node: "node-1"} }
	s.at(20).sees(transition.NodeReadyChanged{OfNode: of(), From: event.StatusTrue, To: event.StatusFalse, Says: event.Words{Reason: "KubeletNotReady", Message: "node is shutting down"}})
	s.at(50).misses(40, "node-1").turns("node-1", event.StatusFalse, event.StatusUnknown)
	s.at(100)
	x := s.only()
	if equal(t, "verdict", x.Verdict, verdict.Node); !strings.HasPrefix(x.Remedy, "The machine of node-1 was shut down in order") {
		t.Error(x.Remedy)
	}
	s.at(170).returns(160, "node-1").sees(transition.NodeRebooted{OfNode: of()})
	s.sees(transition.NodeReadyChanged{OfNode: of(), From: event.StatusUnknown, To: event.StatusFalse, Says: event.Words{Message: "container runtime status check may not have completed yet"}})
	s.at(180).turns("node-1", event.StatusFalse, event.StatusTrue).at(190)
	x = s.only()
	if equal(t, "verdict", x.Verdict, verdict.NodeRebooted); !strings.HasPrefix(x.Remedy, "The machine of node-1 was shut down in order") {
		t.Error(x.Remedy)
	}
}

// TestWhatAStartingKubeletSaysIsNoExplanation lets a kubelet return from a silence with a complaint that ends soon, or does
// not end.
func TestWhatAStartingKubeletSaysIsNoExplanation(t *testing.T) {
	for until, want := range map[float64]string{130: "Find out what keeps the kubelet on node-1 from reporting", 400: "Check the network plug-in on node-1"} {
		s := newScenario(t)
		s.at(10).beats("node-1", "node-2", "node-3", "node-4")
		s.at(50).misses(40, "node-1").turns("node-1", event.StatusTrue, event.StatusUnknown)
		s.at(100).returns(90, "node-1").sees(transition.NodeReadyChanged{
			OfNode: transition.OfNode{At: s.is(), Node: "node-1"}, From: event.StatusUnknown, To: event.StatusFalse,
			Says: event.Words{Reason: "KubeletNotReady", Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"},
		})
		s.at(until).turns("node-1", event.StatusFalse, event.StatusTrue).at(until + 1000)
		if x := s.only(); !strings.HasPrefix(x.Remedy, want) {
			t.Errorf("until %g: %s", until, x.Remedy)
		}
	}
}

// TestNobodysWordsAreACommand lets a kubelet name commands, which nobody should run.
func TestNobodysWordsAreACommand(t *testing.T) {
	b := newTracked(grace40)
	b.at(0).lists(event.KindNode, says(-5000, ""))
	b.at(100).is(event.Modified, says(100, "stuck (kubectl delete node node-2) again", problem(100, "Stuck (kubectl delete node node-3)", "")))
	x := b.only(t)
	equal(t, "command", x.Command, "")
	if strings.Contains(x.FirstStep, "delete") || strings.Contains(x.Remedy, "node-3") || !strings.Contains(x.Remedy, "stuck") {
		t.Errorf("%s: %s", x.FirstStep, x.Remedy)
	}
}

// TestAComplaintKeepsItsID restarts kubeflap without recordings while a kubelet complains, so that links to the incident
// stay valid.
func TestAComplaintKeepsItsID(t *testing.T) {
	complains := says(100, "PLEG is not healthy")
	before := newTracked(grace40).at(0).starts(says(-5000, "")).at(100).is(event.Modified, complains).only(t)
	after := newTracked(grace40).at(4000).starts(complains).only(t)
	equal(t, "ID", after.ID, before.ID)
	equal(t, "start", after.Start, before.Start)
}
