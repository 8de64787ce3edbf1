package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// churnEvents returns the events of a cluster in which pods, nodes and Services change at random for ten minutes, often
// several at once.
func churnEvents(seed uint64) (all []event.Event) {
	c := newFakeCluster(6)
	c.random = rand.New(rand.NewPCG(seed, 7))
	c.sink = func(e event.Event) { all = append(all, e) }
	for i := range 4 {
		v := c.service(fmt.Sprintf("api-%d", i), true)
		for _, n := range c.nodes[:4] {
			v.start(c, n).serve()
		}
		v.fill()
	}
	c.start()
	const end = 600
	for t := 60.0; t < end-90; t += c.between(0.2, 4).Seconds() {
		c.at(t, c.churn)
	}
	c.runUntil(end)
	return all
}

// churn makes one random change.
func (s *fakeCluster) churn() {
	v, n := pickOne(s, s.services), pickOne(s, s.nodes)
	switch s.random.IntN(16) {
	case 0, 1, 2, 3:
		s.flaps(pickOne(s, v.pods), "ContainersNotReady", 0.2, 6)
	case 4, 5:
		s.flaps(pickOne(s, v.pods), "ReadinessGatesNotReady", 0.2, 6)
	case 6, 7:
		pickOne(s, v.pods).restart(s)
	case 8:
		p := pickOne(s, v.pods)
		s.updates(s.second(), []*fakePod{p}, func(int) float64 { return s.between(0.1, 5).Seconds() }, s.between(1, 8).Seconds())
	case 9, 10:
		p := pickOne(s, v.pods)
		if p.DeletionTimestamp.IsZero() {
			p.stop(s, []string{"", "EvictionByEvictionAPI"}[s.random.IntN(2)])
			v.replace(s, p)
		}
	case 11, 12:
		s.failsNode(n)
	case 13:
		if s.random.IntN(4) == 0 {
			s.silence(s.second(), s.second()+s.between(50, 80).Seconds(), slices.Index(s.nodes, n)+1)
		}
	case 14:
		s.selectsOthers(v)
	case 15:
		s.editsSlice(v)
	}
}

func pickOne[T any](s *fakeCluster, of []T) T { return of[s.random.IntN(len(of))] }

// flaps makes a pod not ready for a while.
func (s *fakeCluster) flaps(p *fakePod, reason string, least, most float64) {
	if p.Ready.Status != event.StatusTrue || !p.DeletionTimestamp.IsZero() {
		return
	}
	p.setReady(s, false, reason)
	s.after(s.between(least, most), func() {
		if p.DeletionTimestamp.IsZero() && p.Ready.Reason == reason {
			p.setReady(s, true, "")
		}
	})
}

// failsNode makes a kubelet report its node as not ready, as when the network plugin is down. It reports some of the
// pods shortly before or after the node. The pods are ready again soon after the node.
func (s *fakeCluster) failsNode(n *fakeNode) {
	if n.Ready.Status != event.StatusTrue || n.silentUntil(s.second()) > 0 {
		return
	}
	lasts := s.between(0.5, 15)
	s.after(2*time.Second, func() {
		if n.Ready.Status == event.StatusTrue {
			s.setReady(n, event.StatusFalse, "KubeletNotReady")
		}
	})
	s.after(2*time.Second+lasts, func() {
		if n.Ready.Status == event.StatusFalse {
			s.setReady(n, event.StatusTrue, "KubeletReady")
		}
	})
	for _, p := range s.podsOn(n) {
		if down := s.between(0.5, 6); down < lasts+time.Second {
			s.after(down, func() { s.flaps(p, "ContainersNotReady", lasts.Seconds(), lasts.Seconds()+2) })
		}
	}
}

// selectsOthers changes the selector of a Service, so that it matches no pod for a while.
func (s *fakeCluster) selectsOthers(v *fakeService) {
	if v.Selector["app"] != v.Name {
		return
	}
	set := func(app string) {
		v.Selector = map[string]string{"app": app}
		s.sendToWatch(event.Modified, &v.Service)
		s.syncSoon(v)
	}
	set("others")
	s.after(s.between(0.5, 5), func() { set(v.Name) })
}

// editsSlice removes an address from a slice by hand. The controller adds it again at its next sync.
func (s *fakeCluster) editsSlice(v *fakeService) {
	if len(v.slice.Addresses) == 0 {
		return
	}
	v.slice.Addresses, v.slice.Writer = slices.Clone(v.slice.Addresses[1:]), "kubectl-edit"
	s.sendToWatch(event.Modified, &v.slice)
	v.slice.Writer = "kube-controller-manager"
	s.after(s.between(0.5, 3), func() { s.syncSoon(v) })
}
