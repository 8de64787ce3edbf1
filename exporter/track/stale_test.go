package track

import (
	"fmt"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// upgrade is an in-place upgrade of four pods. They leave the load balancer at 10 s, and their images change at 17 s.
// Then the old containers end one by one, and each address leaves in its own update.
type upgrade struct {
	*story
	// leaves and back are the times at which the addresses leave and return.
	leaves, back [4]float64
}

func newUpgrade(t *testing.T) upgrade {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		aPod("web-3", ready, running("app:1", 0)), aPod("web-4", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2", "web-3", "web-4"))
	return upgrade{s, [4]float64{18, 20.5, 23, 26}, [4]float64{40, 41, 42, 43}}
}

// addresses returns the slice at the given time.
func (u upgrade) addresses(at float64) *event.EndpointSlice {
	var all []string
	for i := range u.leaves {
		name := fmt.Sprintf("web-%d", i+1)
		if u.leaves[i] <= at && at < u.back[i] {
			name = "-" + name
		}
		all = append(all, name)
	}
	return slice("a", "web", all...)
}

// pod returns a pod with this status and the new image.
func (u upgrade) pod(i int, status event.Status, restarts int32) *event.Pod {
	p := aPod(fmt.Sprintf("web-%d", i+1), status, running("app:2", restarts))
	if status != ready {
		p.Ready.Reason, p.Containers[0].Ready, p.Containers[0].State = "ContainersNotReady", false, "terminated"
	}
	return p
}

func (u upgrade) changeImages(at float64) {
	for i := range u.leaves {
		u.at(at).modified(u.pod(i, ready, 0))
	}
}

func (u upgrade) play() {
	for i, at := range u.leaves {
		u.at(at).modified(u.pod(i, notReady, 0))
		u.at(at + 0.02).modified(u.addresses(at))
	}
	for i, at := range u.back {
		u.at(at).modified(u.pod(i, ready, 1))
		u.at(at + 0.02).modified(u.addresses(at))
	}
	u.at(120)
}

func (u upgrade) readds() (by [transition.NumWindows]uint64) {
	u.t.Helper()
	return u.service("web").StaleReadds
}

func TestStaleReaddsOfAnUpgradeInPlace(t *testing.T) {
	cases := map[string]struct {
		play func(upgrade)
		want [transition.NumWindows]uint64
	}{
		// With 0 s, the batch closes at 18 s: web-2, web-3 and web-4 are still listed. With 2 s it closes at 20 s, with
		// the same addresses. With 5 s it closes at 23 s: web-3, which leaves at that moment, and web-4 are listed.
		// With 10 s it closes at 28 s, when all have left.
		"addresses leave one by one": {func(u upgrade) { u.changeImages(17); u.play() }, [transition.NumWindows]uint64{3, 3, 2, 0}},
		// The watches of pods and slices have no common order. Each address returns before kubeflap sees that its pod is
		// Ready with the new container.
		"addresses return before their pods are seen to be Ready": {func(u upgrade) {
			u.changeImages(17)
			for i, at := range u.leaves {
				u.at(at).modified(u.pod(i, notReady, 0)).at(at + 0.02).modified(u.addresses(at))
			}
			for i, at := range u.back {
				u.at(at).modified(u.addresses(at)).at(at + 0.02).modified(u.pod(i, ready, 1))
			}
			u.at(120)
		}, [transition.NumWindows]uint64{3, 3, 2, 0}},
		"all leave within 2 s": {func(u upgrade) {
			u.leaves = [4]float64{18, 18.5, 19, 19.5}
			u.changeImages(17)
			u.play()
		}, [transition.NumWindows]uint64{3, 0, 0, 0}},
		"each address has its own image change": {func(u upgrade) {
			u.leaves, u.back = [4]float64{18, 38, 58, 78}, [4]float64{30, 50, 70, 90}
			for i := range u.leaves {
				u.at(u.leaves[i] - 1).modified(u.pod(i, ready, 0))
				u.at(u.leaves[i]).modified(u.pod(i, notReady, 0)).modified(u.addresses(u.leaves[i]))
				u.at(u.back[i]).modified(u.pod(i, ready, 1)).modified(u.addresses(u.back[i]))
			}
			u.at(120)
		}, [transition.NumWindows]uint64{}},
		"a gate takes the addresses out before": {func(u upgrade) {
			u.leaves = [4]float64{10, 11, 12, 13}
			for i, at := range u.leaves {
				p := aPod(fmt.Sprintf("web-%d", i+1), notReady, running("app:1", 0))
				p.Ready.Reason, p.Gates = "ReadinessGatesNotReady", 1
				u.at(at).modified(p).modified(u.addresses(at))
			}
			for i := range u.leaves {
				p := u.pod(i, notReady, 0)
				u.at(17).modified(p)
				u.at(20 + float64(i)).modified(u.pod(i, notReady, 1))
			}
			for i, at := range u.back {
				u.at(at).modified(u.addresses(at)).at(at + 0.02).modified(u.pod(i, ready, 1))
			}
			u.at(120)
		}, [transition.NumWindows]uint64{}},
		"containers restart while their pods stay Ready, and then another address leaves": {func(u upgrade) {
			u.changeImages(17)
			for i := range 4 {
				u.at(18).modified(u.pod(i, ready, 1))
			}
			u.at(20).modified(slice("a", "web", "web-1", "web-2", "web-3", "-web-4"))
			u.at(120)
		}, [transition.NumWindows]uint64{}},
		"an image changed long ago": {func(u upgrade) {
			u.changeImages(17)
			u.at(300).modified(slice("a", "web", "web-1", "web-2", "web-3", "-web-4"))
			u.at(400)
		}, [transition.NumWindows]uint64{}},
		"a rollout that replaces pods": {func(u upgrade) {
			gone := aPod("web-1", ready, running("app:1", 0))
			gone.DeletionTimestamp = clock(17)
			u.at(16).added(aPod("new-1", ready, running("app:2", 0))).modified(slice("a", "web", "web-1", "web-2", "web-3", "web-4", "new-1"))
			u.at(17).modified(gone).modified(slice("a", "web", "~web-1", "web-2", "web-3", "web-4", "new-1"))
			u.at(20).deleted(gone).modified(slice("a", "web", "web-2", "web-3", "web-4", "new-1"))
			u.at(120)
		}, [transition.NumWindows]uint64{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := newUpgrade(t)
			c.play(u)
			equal(t, "stale re-adds by window", u.readds(), c.want)
			sum := uint64(0)
			for _, n := range c.want {
				sum += n
			}
			equal(t, "transitions", uint64(count[transition.StaleReadd](u.story)), sum)
		})
	}
}

// consumerBounces counts the bounces of simulated clients by window.
func (s *story) consumerBounces() (by [transition.NumWindows]uint64) {
	for _, x := range of[transition.ConsumerMistake](s) {
		for i, window := range transition.Windows() {
			if x.Window == window && !x.Stale {
				by[i]++
			}
		}
	}
	return by
}
