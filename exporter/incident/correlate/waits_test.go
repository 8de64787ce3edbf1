package correlate

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// waitingPod returns a pod of the Service web whose only container waits for a reason. It is Ready if there is none.
func waitingPod(name, reason string) *event.Pod {
	p := aPod(name, event.StatusTrue, "")
	p.Labels = map[string]string{"app": "web"}
	if p.Containers[0].Ready = true; reason != "" {
		p.Ready.Status, p.Ready.Reason = event.StatusFalse, "ContainersNotReady"
		p.Containers[0].Ready, p.Containers[0].State, p.Containers[0].Reason = false, "waiting", reason
	}
	return p
}

// TestWhatKeepsAnOutageGoing asks what an incident says during and after an outage with two waits.
func TestWhatKeepsAnOutageGoing(t *testing.T) {
	web := aService("web", "s", true)
	web.Selector = map[string]string{"app": "web"}
	b := newTracked(track.Settings{})
	b.starts(aNode("node-1"), web, waitingPod("web-1", ""), aSlice("s", "web-1"))
	b.at(10).is(event.Modified, waitingPod("web-1", "ImagePullBackOff"), aSlice("s", "-web-1"))
	theOne := func(at float64, waitsFor, remedy string) incident.Incident {
		t.Helper()
		all := b.asOf(at)
		if len(all) != 1 || all[0].WaitsFor != waitsFor || !strings.HasPrefix(all[0].Remedy, remedy) {
			t.Fatalf("at %g: %+v", at, all)
		}
		return all[0]
	}
	if x := theOne(69, "", ""); strings.Contains(x.Remedy, "waits") {
		t.Errorf("too early: %s", x.Remedy)
	}
	name := strings.TrimPrefix(web.Namespace+"/web-1", "/")
	theOne(80, web.Namespace+"/web waits for the image of pod "+name+" (container app: ImagePullBackOff)", "Check the name and the tag of the image")
	b.at(200).is(event.Modified, waitingPod("web-1", "CreateContainerConfigError"))
	theOne(220, web.Namespace+"/web waits for a container of pod "+name+" to be created (container app: CreateContainerConfigError)", "Fix what the kubelet reports")
	b.at(240).is(event.Modified, waitingPod("web-1", ""), aSlice("s", "web-1"))
	x := theOne(500, "", "Check the name and the tag of the image")
	for _, want := range []string{"waited 3m10s for the image", "waited 40s for a container"} {
		if !slices.ContainsFunc(x.Evidence, func(e incident.Evidence) bool { return strings.Contains(e.Text, want) }) {
			t.Errorf("no evidence %q in %v", want, x.Evidence)
		}
	}
	for _, want := range []string{" For 3m10s, " + web.Namespace + "/web waited for the image of pod", " What began the outage: "} {
		if !strings.Contains(x.Remedy, want) {
			t.Errorf("the remedy does not say %q: %s", want, x.Remedy)
		}
	}
}
