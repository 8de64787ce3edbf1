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

// silentNodes is a story in which some nodes are silent for the given length. node-1 falls silent at 10 s, and each
// further one of these nodes falls silent offset seconds later. pods returns the number of a node's pods. They tolerate
// an unreachable node for 30 s.
type silentNodes struct {
	nodes, silent  int
	offset, length float64
	pods           func(node int) int
	flags          event.ControllerManagerFlags
	zone           func(node int) string
}

func (c silentNodes) story() *story {
	s := newStory(c.nodes, 0)
	for i := 1; i <= c.nodes; i++ {
		name := fmt.Sprint("node-", i)
		for j := range c.pods(i) {
			s.add(0.1, event.Added, &event.Pod{
				Meta: event.Meta{UID: event.UID{1, byte(i), byte(j)}, Namespace: "shop", Name: fmt.Sprint("web-", i, "-", j)}, Node: name, Owner: "ReplicaSet/web",
				Phase: "Running", Ready: &event.Condition{Status: event.StatusTrue}, ToleratesUnreachable: &event.Toleration{Seconds: 30},
			})
		}
		if c.zone != nil {
			s.nodes[name].Labels = map[string]string{"topology.kubernetes.io/zone": c.zone(i)}
			s.add(0.1, event.Modified, s.nodes[name])
		}
		last := 10 + c.offset*float64(min(i-1, c.silent))
		s.beats(name, last)
		for t := last + 10; t < c.length+60; t += 10 {
			if i > c.silent {
				s.beats(name, t)
			}
		}
		for t := last + c.length; i <= c.silent && t < c.length+60; t += 10 {
			s.beats(name, t)
		}
	}
	s.add(0.1, event.Added, &event.Pod{
		Meta: event.Meta{UID: event.UID{2}, Namespace: "kube-system", Name: "kube-controller-manager-1"}, Ready: &event.Condition{}, Phase: "Running",
		ControllerManager: &event.ControllerManager{GracePeriod: time.Hour, Flags: &c.flags},
	})
	s.ends(c.length + 60)
	return s
}

func (c silentNodes) evictions() answer.Range {
	x := Settings{GracePeriod: 20 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
	return c.story().predictAll(0, x).Settings[0].Evictions
}

func onePod(int) int { return 1 }

// TestTheRateOfTaints checks how many nodes the controller taints, and thus how many pods it evicts.
func TestTheRateOfTaints(t *testing.T) {
	none, fast, half := 0.0, 1.0, 0.5
	only := func(node int) func(int) int { return func(i int) int { return 10 * count(i == node) } }
	for name, c := range map[string]struct {
		silentNodes
		want answer.Range
	}{
		"one node":    {silentNodes{nodes: 10, silent: 1, length: 200, pods: onePod}, exactly(1)},
		"four nodes":  {silentNodes{nodes: 10, silent: 4, length: 200, pods: onePod, offset: 0.1}, exactly(4)},
		"a fast rate": {silentNodes{nodes: 10, silent: 4, length: 75, pods: onePod, flags: event.ControllerManagerFlags{EvictionRate: &fast}}, exactly(4)},
		// The limiter begins with one node, even at a rate of 0. The recording does not show whether it was used.
		"no rate":               {silentNodes{nodes: 10, silent: 4, length: 200, pods: onePod, flags: event.ControllerManagerFlags{EvictionRate: &none}}, answer.Range{AtMost: 1}},
		"the order is open":     {silentNodes{nodes: 10, silent: 4, length: 78, pods: only(1), offset: 0.1}, answer.Range{AtMost: 10}},
		"in the other order":    {silentNodes{nodes: 10, silent: 4, length: 78, pods: only(4), offset: 0.1}, answer.Range{AtMost: 10}},
		"the order is certain":  {silentNodes{nodes: 10, silent: 3, length: 78, pods: only(1), offset: 6}, exactly(10)},
		"partial disruption":    {silentNodes{nodes: 10, silent: 6, length: 200, pods: onePod}, answer.Range{AtMost: 2}},
		"a threshold of 50 %":   {silentNodes{nodes: 10, silent: 5, length: 200, pods: onePod, flags: event.ControllerManagerFlags{UnhealthyZoneThreshold: &half}}, answer.Range{AtMost: 2}},
		"less than 55 %":        {silentNodes{nodes: 10, silent: 5, length: 200, pods: onePod}, exactly(5)},
		"a large zone":          {silentNodes{nodes: 60, silent: 36, length: 600, pods: onePod, offset: 0.05}, answer.Range{AtLeast: 6, AtMost: 7}},
		"a secondary rate of 0": {silentNodes{nodes: 60, silent: 36, length: 600, pods: onePod, flags: event.ControllerManagerFlags{SecondaryEvictionRate: &none}}, answer.Range{AtMost: 2}},
		"all nodes of one of two zones": {silentNodes{nodes: 10, silent: 4, length: 200, pods: onePod, zone: func(i int) string {
			return fmt.Sprint("zone-", count(i <= 4))
		}}, exactly(4)},
	} {
		if got := c.evictions(); got != c.want {
			t.Errorf("%s: %+v evictions, want %+v", name, got, c.want)
		}
	}
}

// TestDeletedNodesMayCount checks that the number of evictions is a range if it depends on whether deleted nodes still
// exist: three of five nodes are Unknown, or three of ten.
func TestDeletedNodesMayCount(t *testing.T) {
	s := silentNodes{nodes: 10, silent: 3, length: 200, pods: onePod}.story()
	for i := 6; i <= 10; i++ {
		s.add(220, event.Deleted, s.nodes[fmt.Sprint("node-", i)])
	}
	x := Settings{GracePeriod: 20 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
	if got := s.predictAll(0, x).Settings[0].Evictions; got != (answer.Range{AtMost: 3}) {
		t.Errorf("%+v", got)
	}
}

// TestEvictionsOfASimulatedController compares the predicted evictions with those of a simulated controller, for random
// zones, phases and orders of nodes.
func TestEvictionsOfASimulatedController(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const zones = 300
	open := 0.0
	for range zones {
		size := []int{5, 10, 60}[random.IntN(3)]
		c := silentNodes{
			nodes: size + 1, silent: 1 + random.IntN(size), offset: random.Float64() * 8 / float64(size), length: 60 + 340*random.Float64(),
			zone: func(i int) string { return fmt.Sprint("zone-", count(i > size)) },
		}
		pods := make([]int, size+2)
		for i := range pods {
			pods[i] = random.IntN(3)
		}
		c.pods = func(i int) int { return pods[i] }
		want := c.evictions()
		open += want.AtMost - want.AtLeast
		for range 20 {
			if got := float64(c.simulate(random, size)); got < want.AtLeast || got > want.AtMost {
				t.Fatalf("%d of %d nodes silent for %.1f s, offset %.2f s, pods %v: %v evictions, predicted %+v", c.silent, size, c.length, c.offset, pods, got, want)
			}
		}
	}
	t.Logf("on average, %.1f evictions are open", open/zones)
}

// simulate returns the number of evictions by a simulated controller with a random phase (node lifecycle controller,
// monitorNodeHealth and doNoExecuteTaintingPass). Times are in seconds.
func (c silentNodes) simulate(random *rand.Rand, size int) (evicted int) {
	const grace, period, tolerates = 20.0, 5.0, 30.0
	last := func(i int) float64 { return 10 + c.offset*float64(i-1) }
	ready := make([]float64, c.silent+1)
	for i := range ready {
		ready[i] = last(i) + c.length + 10*random.Float64()
	}
	state := make([]int, c.silent+1) // 1: Unknown and queued, 2: tainted
	tainted, noticed := make([]float64, c.silent+1), make([]float64, c.silent+1)
	var queue []int
	tokens, rate, phase := 1.0, 0.1, period*random.Float64()
	for tick := 0.0; tick < c.length+60; tick += 0.1 {
		tokens = min(1, tokens+rate*0.1)
		if phase += 0.1; phase >= period {
			phase = 0
			unknown := 0
			for _, i := range random.Perm(c.silent) {
				i++
				if noticed[i] == 0 && tick >= last(i) {
					noticed[i] = tick
				}
				switch {
				case tick >= ready[i] && state[i] > 0:
					queue = slices.DeleteFunc(queue, func(x int) bool { return x == i })
					if state[i] == 2 && tick > tainted[i]+tolerates {
						evicted += c.pods(i)
					}
					state[i] = -1
				case state[i] == 0 && noticed[i] > 0 && tick > noticed[i]+grace && tick < last(i)+c.length:
					state[i] = 1
					queue = append(queue, i)
				}
				unknown += count(state[i] > 0)
			}
			now := 0.1
			if unknown > 2 && unknown < size && float64(unknown) >= 0.55*float64(size) {
				now = 0.01 * float64(count(size > 50))
			}
			if now != rate {
				if rate == 0 || tokens < 1 {
					tokens = 0
				}
				rate = now
			}
		}
		if len(queue) > 0 && tokens >= 1 && rate > 0 {
			state[queue[0]], tainted[queue[0]], queue, tokens = 2, tick, queue[1:], 0
		}
	}
	return evicted
}
