package track

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

// ofDeployment returns a pod of the Deployment web.
func ofDeployment(name, hash string, status event.Status) *event.Pod {
	p := aPod(name, status)
	p.Owner, p.Labels = "ReplicaSet/web-"+hash, map[string]string{"app": "web", "pod-template-hash": hash}
	return p
}

// startsWeb starts with a Deployment and a Service with one pod.
func startsWeb(t *testing.T) *story {
	return newStory(t, grace40).starts(aNode("node-1", ready, -100), aWorkload(event.KindDeployment, "web", 1), aService("web", true),
		ofDeployment("web-1", "5d4", ready), slice("a", "web", "web-1"))
}

// crashes makes the container of the only pod exit. deletes deletes the pod.
func (s *story) crashes() *story {
	p := ofDeployment("web-1", "5d4", notReady)
	p.Ready.Reason = "ContainersNotReady"
	return s.modified(p).modified(slice("a", "web", "-web-1"))
}

func (s *story) deletes() *story {
	p := ofDeployment("web-1", "5d4", ready)
	deleting(p)
	return s.modified(p).modified(slice("a", "web", "~web-1"))
}

func (s *story) rollsOut() *story { return s.added(ofDeployment("web-2", "77f", notReady)) }

// counted checks the counters of the Service.
func (s *story) counted(what string, class cause.Class, lost, outages uint32, spent time.Duration) {
	s.t.Helper()
	is, want := s.service("web"), services.Counters{}
	want.Lost[class], want.Outages[class], want.OutageTime[class] = lost, outages, spent
	equal(s.t, what+": lost", is.Lost, want.Lost)
	equal(s.t, what+": outages", is.Outages, want.Outages)
	equal(s.t, what+": time", is.OutageTime, want.OutageTime)
}

// TestCountsDoNotDependOnQueries asks at many times, and once.
func TestCountsDoNotDependOnQueries(t *testing.T) {
	once, often := startsWeb(t), startsWeb(t)
	for _, s := range []*story{once, often} {
		s.at(10).deletes().at(12).rollsOut()
	}
	for at := 13.0; at < 400; at += 7 {
		often.at(at).service("web")
	}
	equal(t, "counts", often.at(400).service("web").Counters, once.at(400).service("web").Counters)
}

// TestOutagesOfAnEarlierProcess restores the outages of a recording.
func TestOutagesOfAnEarlierProcess(t *testing.T) {
	restored := func(play func(*story), at float64, until float64) *story {
		earlier := startsWeb(t)
		play(earlier)
		text, err := json.Marshal(earlier.Past(clock(at)))
		if err != nil {
			t.Fatal(err)
		}
		var past Past
		if err := json.Unmarshal(text, &past); err != nil {
			t.Fatal(err)
		}
		s := newStory(t, grace40).at(at)
		s.Restore(past, s.now)
		s.starts(aNode("node-1", ready, -100), aWorkload(event.KindDeployment, "web", 1), aService("web", true), slice("a", "web"))
		return s.at(until)
	}
	equal(t, "a class that is final", restored(func(s *story) { s.at(10).crashes() }, 400, 400).OutageStarts(clock(460), nil)[0].Start, clock(10))
	restored(func(s *story) { s.at(10).crashes() }, 400, 460).counted("a class that is final", cause.Unplanned, 0, 0, 60*time.Second)
	restored(func(s *story) { s.at(10).deletes().at(12).rollsOut() }, 100, 200).counted("a rollout", cause.Rollout, 0, 0, 0)
	restored(func(s *story) { s.at(10).deletes().at(12).rollsOut() }, 100, 320).counted("a rollout that failed", cause.Unplanned, 0, 1, 310*time.Second)
	restored(func(*story) {}, 400, 800).counted("no outage before: found", cause.Found, 0, 0, 0)
}

// TestCountersThatGoOnBeginAgain checks since when the counters of an ongoing outage count after a restart of the counting.
func TestCountersThatGoOnBeginAgain(t *testing.T) {
	s := startsWeb(t)
	s.at(10).modified(aWorkload(event.KindDeployment, "web", 0))
	s.deletes().at(400).StartCounting(s.now)
	s.at(460)
	equal(t, "since", s.service("web").ClassSince[cause.ScaledToZero], clock(400))
}
