package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// quietGap returns a restart around which nothing happens.
func quietGap(random *rand.Rand, busy []float64, least, most float64) (from, to float64, ok bool) {
	for range 200 {
		from = least + float64(random.IntN(int(2*(most-least))))/2
		to = from + []float64{0.5, 3, 20, 60}[random.IntN(4)]
		free := true
		for _, b := range busy {
			if b > from-75 && b < to+30 {
				free = false
			}
		}
		if free {
			return from, to, true
		}
	}
	return 0, 0, false
}

// randomCluster returns a cluster with random failures, the seconds at which they begin and end, and their description.
func randomCluster(seed uint64) (*fakeCluster, []float64, string) {
	random := rand.New(rand.NewPCG(seed, 7))
	between := func(a, b int) float64 { return float64(a + random.IntN(b-a)) }
	c := newFakeCluster(12)
	solo := c.service("solo", true)
	for i := range 1 + random.IntN(3) {
		solo.start(c, c.nodes[3+i]).serve()
	}
	solo.fill()
	var busy []float64
	text := ""
	for range 1 + random.IntN(4) {
		from := between(300, 3000)
		to := from + []float64{between(60, 300), between(300, 2500)}[random.IntN(2)]
		busy = append(busy, from, to)
		nodes := random.Perm(12)[:[]int{1, 1, 2, 3, 6}[random.IntN(5)]]
		for i := range nodes {
			nodes[i]++
		}
		switch random.IntN(5) {
		case 0, 1:
			c.silence(from, to, nodes...)
			text += fmt.Sprintf(" silence %v %g-%g", nodes, from, to)
			busy = append(busy, from+40)
		case 2, 3:
			v := c.services[random.IntN(3)]
			pod := v.pods[random.IntN(len(v.pods))]
			c.notReady(pod, from, to)
			text += fmt.Sprintf(" notReady %s %g-%g", pod.Name, from, to)
			busy = append(busy, from+100)
		case 4:
			c.reboots(from, to, nodes[0])
			text += fmt.Sprintf(" reboots %d %g-%g", nodes[0], from, to)
			busy = append(busy, from+40)
		}
	}
	return c, busy, text
}

// TestRandomRestartsWhileNothingHappens restarts kubeflap at random moments around which nothing happens in the
// cluster. It must show the same as a kubeflap that was not restarted.
func TestRandomRestartsWhileNothingHappens(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for seed := range uint64(few(15, 5)) {
		seed += 12
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, busy, text := randomCluster(seed)
			b, _, _ := randomCluster(seed)
			random := rand.New(rand.NewPCG(seed, 9))
			truth, r := newRestarted(t, a), newRestarted(t, b)
			at, away := 320.0, time.Duration(0)
			for range 3 {
				from, to, ok := quietGap(random, busy, at, at+1500)
				if !ok {
					continue
				}
				r.runUntil(from)
				r.stops = random.IntN(2) == 0
				text += fmt.Sprintf(" RESTART %g-%g %v", from, to, r.stops)
				r.restart(to)
				away += seconds(to - from + 2)
				at = to + 65
				for _, look := range []float64{to + 3, to + 62} {
					truth.runUntil(look)
					r.runUntil(look)
					sameAsTruth(t, look, away, truth.incidents(), r.incidents())
				}
			}
			for _, look := range []float64{max(at, 4200) + 1, 6500} {
				truth.runUntil(look)
				r.runUntil(look)
				sameAsTruth(t, look, away, truth.incidents(), r.incidents())
			}
			sameEnds(t, truth, r)
			if t.Failed() {
				t.Log(text)
			}
			truth.kill()
			r.kill()
		})
	}
}

// TestRandomRestarts restarts kubeflap at random times. It must not lose an incident, list one twice, or report its end
// twice.
func TestRandomRestarts(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for seed := range uint64(few(40, 10)) {
		random := rand.New(rand.NewPCG(seed, 0))
		between := func(a, b int) float64 { return float64(a + random.IntN(b-a)) }
		c := newFakeCluster(12)
		for range 1 + random.IntN(3) {
			from := between(300, 1700)
			nodes := random.Perm(12)[:[]int{1, 1, 3, 6}[random.IntN(4)]]
			for i := range nodes {
				nodes[i]++
			}
			c.silence(from, from+between(45, 600), nodes...)
		}
		for range random.IntN(3) {
			from := between(300, 1700)
			pod := c.services[0].pods[random.IntN(len(c.services[0].pods))]
			c.notReady(pod, from, from+between(5, 500))
		}
		r := newRestarted(t, c)
		for _, at := range []float64{between(310, 1000), between(1100, 2000)} {
			r.runUntil(at)
			before := r.incidents()
			r.stops = random.IntN(2) == 0
			r.restart(at + between(1, 60))
			r.runUntil(r.cluster.second() + 5)
			r.checkHasAll(seed, before)
		}
		r.runUntil(2800)
		r.checkHasAll(seed, nil)
		for _, x := range r.incidents() {
			if r.ends(x.ID) != 1 || x.State != incident.StateEnded {
				t.Errorf("seed %d: %s of %s is %s, and its end was reported %d times", seed, x.ID, x.Subject, x.State, r.ends(x.ID))
			}
		}
		r.kill()
	}
}

// checkHasAll checks that the list contains all incidents from before, and none twice.
func (r *restarted) checkHasAll(seed uint64, before []incident.Incident) {
	r.t.Helper()
	seen := map[string]bool{}
	for _, x := range r.incidents() {
		for _, id := range append(x.Also, x.ID) {
			if seen[id] {
				r.t.Errorf("seed %d: two incidents have the ID %s", seed, id)
			}
			seen[id] = true
		}
	}
	for _, x := range before {
		if !seen[x.ID] {
			r.t.Errorf("seed %d: %s of %s is missing after the restart", seed, x.ID, x.Subject)
		}
	}
}
