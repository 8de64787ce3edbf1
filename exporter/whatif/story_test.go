package whatif

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }

// story is a recording in virtual time. Times are in seconds since its start.
type story struct {
	events []event.Event
	nodes  map[string]*event.Node
	pods   map[string]*event.Pod
	slice  event.EndpointSlice
}

// newStory returns a story with nodes whose Leases were renewed at its start. The Service shop/web has one pod on each
// of the first nodes.
func newStory(nodes, pods int) *story {
	s := &story{nodes: map[string]*event.Node{}, pods: map[string]*event.Pod{}}
	s.slice = event.EndpointSlice{Meta: event.Meta{Namespace: "shop", Name: "web-1"}, Service: "web"}
	s.add(0, event.Added, &event.Cluster{Version: "v1.36.3"})
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i+1)
		s.nodes[name] = &event.Node{Meta: event.Meta{Name: name}, Ready: &event.Condition{Status: event.StatusTrue, LastHeartbeatTime: begin}}
		s.add(0, event.Listed, s.nodes[name])
		s.add(0, event.Listed, lease(name, 0))
		if i < pods {
			pod := &event.Pod{
				Meta: event.Meta{UID: event.UID{byte(i + 1)}, Namespace: "shop", Name: "web-" + name}, Node: name, Phase: "Running",
				Ready: &event.Condition{Status: event.StatusTrue}, ContainersReady: event.StatusTrue,
				ToleratesUnreachable: &event.Toleration{Seconds: 30},
			}
			s.pods[name] = pod
			s.slice.Addresses = append(s.slice.Addresses, event.Address{UID: pod.UID, IP: name, Node: name, Ready: true})
			s.add(0, event.Listed, pod)
		}
	}
	s.add(0, event.Listed, &event.Service{Meta: event.Meta{Namespace: "shop", Name: "web"}})
	s.add(0, event.Listed, &s.slice)
	for _, k := range event.Kinds() {
		s.note(0, k, event.Synced)
	}
	return s
}

func lease(node string, t float64) *event.Lease {
	return &event.Lease{Meta: event.Meta{Name: node}, RenewTime: at(t), DurationSeconds: 40}
}

// add adds an event with a copy of the object.
func (s *story) add(t float64, typ event.Type, o event.Object) {
	switch x := o.(type) {
	case *event.Node:
		c, ready := *x, *x.Ready
		c.Ready, o = &ready, &c
	case *event.Pod:
		c, ready := *x, *x.Ready
		c.Ready, o = &ready, &c
	case *event.EndpointSlice:
		c := *x
		c.Addresses, o = slices.Clone(x.Addresses), &c
	}
	s.events = append(s.events, event.Event{Seen: at(t), Kind: o.Kind(), Type: typ, Object: o})
}

func (s *story) note(t float64, k event.Kind, typ event.Type) {
	s.events = append(s.events, event.Event{Seen: at(t), Kind: k, Type: typ})
}

// beats renews a node's Lease at these times.
func (s *story) beats(node string, times ...float64) {
	for _, t := range times {
		s.add(t, event.Modified, lease(node, t))
	}
}

// beatsUntil renews the nodes' Leases every 10 s.
func (s *story) beatsUntil(end float64, nodes ...string) {
	for t := 10.0; t <= end; t += 10 {
		for _, n := range nodes {
			s.beats(n, t)
		}
	}
}

// unknown sets a node to Unknown and its pod to not Ready. ready reverts both. The addresses follow later.
func (s *story) unknown(t float64, node string) { s.set(t, node, event.StatusUnknown) }
func (s *story) ready(t float64, node string)   { s.set(t, node, event.StatusTrue) }

func (s *story) set(t float64, node string, status event.Status) {
	n := s.nodes[node]
	n.Ready.Status = status
	if status == event.StatusTrue {
		n.Ready.LastHeartbeatTime = at(t)
	}
	s.add(t, event.Modified, n)
	if p := s.pods[node]; p != nil {
		p.Ready.Status = event.StatusTrue
		if status != event.StatusTrue {
			p.Ready.Status = event.StatusFalse
		}
		s.add(t, event.Modified, p)
		s.rotate(t+0.1, p, status == event.StatusTrue)
	}
}

func (s *story) rotate(t float64, p *event.Pod, ready bool) {
	for i := range s.slice.Addresses {
		if s.slice.Addresses[i].UID == p.UID {
			s.slice.Addresses[i].Ready = ready
		}
	}
	s.add(t, event.Modified, &s.slice)
}

// ends ends the story.
func (s *story) ends(t float64) { s.note(t, event.KindService, event.Bookmark) }

// predict returns the predictions for grace periods, with a monitor period of 5 s.
func (s *story) predict(recorded time.Duration, graces ...time.Duration) answer.Answer {
	var settings []Settings
	for _, grace := range graces {
		settings = append(settings, Settings{GracePeriod: grace, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded})
	}
	return s.predictAll(recorded, settings...)
}

func (s *story) predictAll(recorded time.Duration, settings ...Settings) answer.Answer {
	slices.SortStableFunc(s.events, func(a, b event.Event) int { return a.Seen.Compare(b.Seen) })
	study := New(settings, recorded)
	for _, e := range s.events {
		study.Apply(e)
	}
	study.Finish()
	return study.Predict(settings)
}

// TestTheDelayOfTheController checks that the controller acts after a whole number of monitor periods.
func TestTheDelayOfTheController(t *testing.T) {
	for _, c := range []struct{ grace, monitor, earliest, latest float64 }{
		{40, 5, 39.7, 45.57}, {41, 5, 44.7, 50.6}, {45, 5, 44.7, 50.6}, {50, 5, 49.7, 55.63}, {12, 5, 14.7, 20.42}, {24, 1, 23.7, 26.05}, {3, 5, 4.7, 10.36},
	} {
		x := Settings{GracePeriod: time.Duration(c.grace) * time.Second, MonitorPeriod: time.Duration(c.monitor) * time.Second}
		earliest, latest := x.delay()
		if earliest.Seconds() != c.earliest || latest.Seconds() != c.latest {
			t.Errorf("grace period %v, monitor period %v: %s to %s, want %v to %v s", c.grace, c.monitor, earliest, latest, c.earliest, c.latest)
		}
	}
}

func TestTheOutcomeOfASilence(t *testing.T) {
	// node-1 renews its Lease at 10 s and at the times in beats. node-2 renews without interruption, so the controller
	// can act.
	for name, c := range map[string]struct {
		beats   []float64
		how     func(*story)
		ends    float64
		outcome answer.Outcome
	}{
		"just shorter than the earliest time":  {beats: []float64{49.6}, outcome: answer.No},
		"just longer than the earliest time":   {beats: []float64{49.8}, outcome: answer.TooClose},
		"just shorter than the latest time":    {beats: []float64{55.5}, outcome: answer.TooClose},
		"just longer than the latest time":     {beats: []float64{55.6}, outcome: answer.Yes},
		"to the end, long enough":              {ends: 100, outcome: answer.Yes},
		"to the end, not long enough":          {ends: 40, outcome: answer.Untold},
		"to the end, too close":                {ends: 52, outcome: answer.Untold},
		"a status report is a heartbeat":       {beats: []float64{60}, how: func(s *story) { s.ready(35, "node-1") }, outcome: answer.No},
		"a renewal with an old time is none":   {beats: []float64{60}, how: func(s *story) { s.add(35, event.Modified, lease("node-1", -100)) }, outcome: answer.Yes},
		"the watch of Leases broke meanwhile":  {beats: []float64{60}, how: func(s *story) { s.breaks(20, 25) }, outcome: answer.Yes},
		"it broke before the end":              {beats: []float64{60}, how: func(s *story) { s.breaks(40, 59.9) }, outcome: answer.Untold},
		"it broke before the end, but late":    {beats: []float64{60}, how: func(s *story) { s.breaks(56, 59.9) }, outcome: answer.Yes},
		"it broke at the begin":                {beats: []float64{49}, how: func(s *story) { s.breaks(5, 9.9) }, outcome: answer.Untold},
		"it broke at the begin, for short":     {beats: []float64{49}, how: func(s *story) { s.breaks(9.5, 9.9) }, outcome: answer.No},
		"it is broken at the end":              {how: func(s *story) { s.breaks(30, 200) }, ends: 100, outcome: answer.Untold},
		"the watch broke in a short silence":   {beats: []float64{40}, how: func(s *story) { s.breaks(20, 39.9) }, outcome: answer.No},
		"the watch of Services broke":          {beats: []float64{60}, how: func(s *story) { s.note(20, event.KindService, event.Down); s.note(25, event.KindService, event.Up) }, outcome: answer.Yes},
		"another leader":                       {beats: []float64{60}, how: func(s *story) { s.leads(5, "a"); s.leads(30, "b") }, outcome: answer.Untold},
		"the same leader":                      {beats: []float64{60}, how: func(s *story) { s.leads(5, "a"); s.leads(30, "a") }, outcome: answer.Yes},
		"the node is deleted before":           {how: func(s *story) { s.add(45, event.Deleted, s.nodes["node-1"]) }, ends: 100, outcome: answer.No},
		"the node is deleted after":            {how: func(s *story) { s.add(70, event.Deleted, s.nodes["node-1"]) }, ends: 100, outcome: answer.Yes},
		"the controller did not wait":          {beats: []float64{60}, how: func(s *story) { s.unknown(30, "node-1") }, outcome: answer.Untold},
		"the controller had a shorter setting": {beats: []float64{60}, how: func(s *story) { s.unknown(42, "node-1") }, outcome: answer.Yes},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ends == 0 {
				c.ends = 60
			}
			s := newStory(2, 0)
			s.beats("node-1", append([]float64{10}, c.beats...)...)
			s.beatsUntil(c.ends, "node-2")
			if c.how != nil {
				c.how(s)
			}
			s.events = slices.DeleteFunc(s.events, func(e event.Event) bool { return e.Seen.After(at(c.ends)) })
			s.ends(c.ends)
			recorded := 60 * time.Second
			if name == "the controller had a shorter setting" {
				recorded = 30 * time.Second
			}
			if got := s.predict(recorded, 40*time.Second).Settings[0].Transitions; outcomeOf(got) != c.outcome {
				t.Errorf("got %+v, want %s", got, c.outcome)
			}
		})
	}
}

// breaks interrupts the Lease watch, so that renewals in this interval are not seen.
func (s *story) breaks(from, to float64) {
	s.events = slices.DeleteFunc(s.events, func(e event.Event) bool {
		return e.Kind == event.KindLease && e.Seen.After(at(from)) && e.Seen.Before(at(to))
	})
	s.note(from, event.KindLease, event.Down)
	s.note(to, event.KindLease, event.Up)
}

func (s *story) leads(t float64, holder string) {
	s.add(t, event.Modified, &event.ControlPlaneLease{Meta: event.Meta{Namespace: "kube-system", Name: event.LeaseControllerManager}, Holder: holder})
}

// outcomeOf returns the outcome of node-1's longest silence. Silences that are too short for any of the settings are
// not kept.
func outcomeOf(all []answer.Transition) answer.Outcome {
	outcome, longest := answer.No, 0.0
	for _, x := range all {
		if x.Node == "node-1" && x.SilenceSeconds > longest {
			outcome, longest = x.Predicted, x.SilenceSeconds
		}
	}
	return outcome
}

// TestTheSilenceOfAllNodes checks that nothing is predicted while no node renews its Lease, because the controller may
// be cut off, too. Only a grace period longer than the silence has a certain outcome.
func TestTheSilenceOfAllNodes(t *testing.T) {
	s := newStory(2, 0)
	s.beats("node-1", 10, 60)
	s.beats("node-2", 11, 61)
	s.ends(70)
	a := s.predict(0, 30*time.Second, 60*time.Second)
	if got := a.Settings[0]; got.NodesUnknown != (answer.Range{AtLeast: 0, AtMost: 2}) || got.Unknown != 2 || got.Knee {
		t.Errorf("30 s: %+v", got)
	}
	if got := a.Settings[1]; got.NodesUnknown != (answer.Range{}) || !got.Knee {
		t.Errorf("60 s: %+v", got)
	}
}

func TestARecordingThatBeginsInMidSilence(t *testing.T) {
	s := newStory(2, 0)
	s.events[2].Object.(*event.Lease).RenewTime = at(-25) // this is node-1
	s.events[1].Object.(*event.Node).Ready.LastHeartbeatTime = at(-200)
	s.beats("node-1", 30)
	s.beatsUntil(60, "node-2")
	if got := s.predict(0, 40*time.Second).Settings[0].Transitions; len(got) == 0 || got[0].Predicted != answer.Untold || got[0].Because != "the recording begins during the silence" {
		t.Errorf("%+v", got)
	}
}

// TestYesAndNoHoldForEveryPhase compares the model with a simulated controller: a prediction of yes or no must hold for
// every phase and duration of the controller's passes.
func TestYesAndNoHoldForEveryPhase(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sure, unsure := 0, 0
	for range 3000 {
		x := Settings{
			GracePeriod:   time.Duration(5+random.IntN(60)) * time.Second,
			MonitorPeriod: time.Duration(1+random.IntN(10)) * time.Second, Toleration: AsRecorded,
		}
		length := time.Duration(5e9 + random.Float64()*90e9)
		predicted := (&silence{from: begin, to: begin.Add(length), shortest: length, longest: length}).predict(x).outcome
		for range 20 {
			phase := time.Duration(random.Float64() * float64(x.MonitorPeriod))
			duration := time.Millisecond + time.Duration(random.Float64()*float64(pass-time.Millisecond))
			if marks := controllerMarks(x, length, phase, duration); predicted == answer.Yes && !marks || predicted == answer.No && marks {
				t.Fatalf("%+v, silent for %s, phase %s, pass %s: predicted %s", x, length, phase, duration, predicted)
			}
		}
		if predicted == answer.TooClose {
			unsure++
		} else {
			sure++
		}
	}
	t.Logf("%d sure, %d too close", sure, unsure)
	if unsure*100 > 10*(sure+unsure) {
		t.Errorf("%d of %d are too close", unsure, sure+unsure)
	}
}

// controllerMarks simulates the node controller (tryUpdateNodeHealth), which notices a heartbeat in its first pass
// after the heartbeat and compares its own time with that of later passes.
func controllerMarks(x Settings, silence, phase, pass time.Duration) bool {
	probe := phase
	for t := phase; ; t += x.MonitorPeriod + pass {
		if t >= silence {
			return false
		}
		if t > probe+x.GracePeriod {
			return true
		}
	}
}
