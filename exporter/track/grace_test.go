package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

func server(version string) *event.Cluster { return &event.Cluster{Version: version} }

func controllerManager(name, version string, grace time.Duration) *event.Pod {
	p := aPod(name, ready)
	p.Namespace = "kube-system"
	p.ControllerManager = &event.ControllerManager{GracePeriod: grace, Version: version}
	return p
}

func TestGracePeriod(t *testing.T) {
	const s = time.Second
	cases := []struct {
		name    string
		flag    time.Duration
		objects []event.Object
		want    controlplane.Setting
	}{
		{"nothing is known", 0, nil, controlplane.Setting{}},
		{"a server of v1.32 or later has 50 s", 0, []event.Object{server("v1.32.0")}, controlplane.Setting{Period: 50 * s, Source: controlplane.SourceDefault}},
		{"an older one has 40 s", 0, []event.Object{server("v1.31.14+k3s1")}, controlplane.Setting{Period: 40 * s, Source: controlplane.SourceDefault}},
		{"a version that says nothing gets today's", 0, []event.Object{server("weird")}, controlplane.Setting{Period: 50 * s, Source: controlplane.SourceDefault}},
		{"a minor with a plus", 0, []event.Object{server("v1.27+.3-eks")}, controlplane.Setting{Period: 40 * s, Source: controlplane.SourceDefault}},
		{
			"the controller manager's flag beats the version", 0,
			[]event.Object{server("v1.36.3"), controllerManager("m", "v1.36.3", 10*s)},
			controlplane.Setting{Period: 10 * s, Source: controlplane.SourceControllerManager},
		},
		{
			"without the flag its image's version decides", 0,
			[]event.Object{server("v1.32.1"), controllerManager("m", "v1.31.9", 0)},
			controlplane.Setting{Period: 40 * s, Source: controlplane.SourceControllerManager},
		},
		{
			"of several managers the tightest counts", 0,
			[]event.Object{controllerManager("a", "", 60*s), controllerManager("b", "", 20*s)},
			controlplane.Setting{Period: 20 * s, Source: controlplane.SourceControllerManager},
		},
		{
			"kubeflap's own flag beats everything", 90 * s,
			[]event.Object{server("v1.36.3"), controllerManager("m", "v1.36.3", 10*s)},
			controlplane.Setting{Period: 90 * s, Source: controlplane.SourceFlag},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			story := newStory(t, Settings{GracePeriod: c.flag}).added(c.objects...)
			equal(t, "grace", story.GracePeriod(), c.want)
		})
	}
}

func TestGracePeriodGoesBackToTheDefaultWithTheManagersPod(t *testing.T) {
	m := controllerManager("m", "v1.36.3", 10*time.Second)
	s := newStory(t, Settings{}).added(server("v1.36.3"), m).deleted(m)
	equal(t, "grace", s.GracePeriod(), controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault})
}

// observed returns a story in which the node controller repeatedly marks a node. The parameter after holds the seconds
// from the node's last heartbeat to each mark.
func observed(t *testing.T, version string, after ...float64) *story {
	s := newStory(t, Settings{}).added(server(version))
	s.starts(aNode("node-1", ready, -100), lease("node-1", 0))
	at := 0.0
	for _, d := range after {
		at += 10
		s.at(at).modified(lease("node-1", at))
		at += d
		s.at(at).modified(unknownSince("node-1", at))
		s.at(at+1).modified(aNode("node-1", ready, at+1), lease("node-1", at+1))
		for range 8 { // wait for the next episode
			at += 10
			s.at(at).modified(lease("node-1", at))
		}
	}
	return s
}

func TestGracePeriodIsObservedWhereWhatIsSeenAgainAndAgainContradictsTheDefault(t *testing.T) {
	for _, c := range []struct {
		what  string
		after []float64
		want  controlplane.Setting
	}{
		{"Unknown 57 s after the last heartbeat agrees with 50 s", []float64{57}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"one after 24 s may be a controller manager that is behind", []float64{24.4}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"two that agree are a grace period", []float64{27.5, 24.4}, controlplane.Setting{Period: 24 * time.Second, Source: controlplane.SourceObserved}},
		{"two that differ by more than a monitor period are none", []float64{24.4, 29.5}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"three that agree are one, too", []float64{27.5, 24.4, 28}, controlplane.Setting{Period: 24 * time.Second, Source: controlplane.SourceObserved}},
		{"three that do not agree are none", []float64{45, 12, 28}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"soon after a heartbeat: no grace period can be so short", []float64{8, 8, 8, 8}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"at once", []float64{0.1, 0.2, 0.1, 0.1}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"one that is odd among three that agree changes nothing", []float64{24.4, 27.5, 8, 28}, controlplane.Setting{Period: 24 * time.Second, Source: controlplane.SourceObserved}},
		{"one after 130 s may be a restart of the manager", []float64{130}, controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault}},
		{"three are not", []float64{130, 125, 128}, controlplane.Setting{Period: 125 * time.Second, Source: controlplane.SourceObserved}},
		{"a period of 10 s, as short as the heartbeat", []float64{11, 14, 10.2}, controlplane.Setting{Period: 10 * time.Second, Source: controlplane.SourceObserved}},
	} {
		equal(t, c.what, observed(t, "v1.36.3", c.after...).GracePeriod(), c.want)
	}
}

func TestAnObservedGracePeriodIsUnlearned(t *testing.T) {
	s := observed(t, "v1.36.3", 24.4, 27.5, 28)
	equal(t, "learned", s.GracePeriod(), controlplane.Setting{Period: 24 * time.Second, Source: controlplane.SourceObserved})
	at := s.now.Add(45 * time.Second).Sub(zero).Seconds()
	s.at(at).modified(lease("node-1", at))
	equal(t, "a node was silent for 45 s and stayed Ready", s.GracePeriod(), controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault})

	s = observed(t, "v1.36.3", 24.4, 27.5, 28, 58, 57, 55)
	equal(t, "it was changed back", s.GracePeriod(), controlplane.Setting{Period: 50 * time.Second, Source: controlplane.SourceDefault})
}

func TestNewGracePeriodCountsForTheRunningInterval(t *testing.T) {
	s := newStory(t, Settings{}).added(server("v1.36.3"))
	s.starts(aNode("node-1", ready, -100), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(20)
	equal(t, "late with 50 s", s.node("node-1").LateHeartbeats, 0)
	s.at(22).added(controllerManager("m", "", 12*time.Second))
	s.at(23.1)
	equal(t, "late with 12 s", s.node("node-1").LateHeartbeats, 1)
	equal(t, "missed with 12 s", s.node("node-1").MissedHeartbeats, 1)
}
