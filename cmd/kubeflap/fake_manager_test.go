package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// fakeManager is the kube-controller-manager: its node controller, and its Lease as a leader.
type fakeManager struct {
	// behind is when its watch of Leases shows it nothing. stopped is when it does not run. holdsBack is when it marks no node.
	behind, stopped, holdsBack []span
	// leases are those of the control plane, if kubeflap may see them: that of the leader and those of the API servers.
	leases []event.ControlPlaneLease
	// lost are the API servers, by index, that stop at a second.
	lost map[int]float64
	// cut is when the last API server cannot renew its Lease.
	cut []span
}

func hasAny(all []span, t float64) bool {
	for _, x := range all {
		if x.has(t) {
			return true
		}
	}
	return false
}

// showsControlPlane lets kubeflap see the Leases of the control plane, with so many API servers.
func (s *fakeCluster) showsControlPlane(servers int) *fakeCluster {
	m := &s.manager
	m.lost = map[int]float64{}
	m.leases = []event.ControlPlaneLease{{
		Meta: metaOf("lease", "kube-system", event.LeaseControllerManager), Renew: s.now, DurationSeconds: 15, Holder: "master-1_1",
	}}
	for i := range servers {
		name := event.LeaseAPIServerPrefix + string(rune('a'+i))
		m.leases = append(m.leases, event.ControlPlaneLease{
			Meta: metaOf("lease", "kube-system", name), Renew: s.now, DurationSeconds: 3600, Holder: name, Host: "master-" + string(rune('1'+i)),
		})
	}
	return s
}

// run renews the Leases of the control plane.
func (m *fakeManager) run(s *fakeCluster) {
	for i := range m.leases {
		every := 10 * time.Second
		if i == 0 {
			every = 2 * time.Second
		}
		var renew func()
		renew = func() {
			stopped := i == 0 && hasAny(m.stopped, s.second())
			if at, ok := m.lost[i]; ok && s.second() >= at || i > 0 && i == len(m.leases)-1 && hasAny(m.cut, s.second()) {
				stopped = true
			}
			if !stopped && s.stalled() == 0 {
				m.leases[i].Renew = s.now
				s.tell(event.Modified, &m.leases[i])
			}
			s.in(every, renew)
		}
		s.in(every, renew)
	}
}

// monitor is a pass of the node controller (node lifecycle controller, monitorNodeHealth), every 5 s.
func (s *fakeCluster) monitor() {
	s.in(5*time.Second, s.monitor)
	if hasAny(s.manager.stopped, s.second()) || s.stalled() > 0 {
		return
	}
	s.pass(!hasAny(s.manager.behind, s.second()))
}

// pass looks at all nodes. Its watch of Leases is live, or shows what it showed before.
func (s *fakeCluster) pass(live bool) {
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		if live {
			n.view = n.lease.Renew
		}
		if n.renewal.Before(n.view) && s.leases {
			n.renewal, n.probed = n.view, s.now
		}
		if !n.report.Equal(n.Ready.Heartbeat) {
			n.report, n.probed, n.renewal = n.Ready.Heartbeat, s.now, time.Time{}
		}
		if s.now.Sub(n.probed) > s.grace && n.Ready.Status != event.StatusUnknown && !hasAny(s.manager.holdsBack, s.second()) {
			s.mark(n)
		}
	}
}

// mark sets a node to Unknown and its pods to not ready.
func (s *fakeCluster) mark(n *fakeNode) {
	wasReady := n.Ready.Status == event.StatusTrue
	n.renewal = n.lease.Renew
	n.Taints = append(n.Taints, event.Taint{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: s.now.Truncate(time.Second)})
	s.setReady(n, event.StatusUnknown, "NodeStatusUnknown")
	if wasReady {
		for i, p := range s.podsOn(n) {
			s.in(time.Duration(i+1)*20*time.Millisecond, func() { p.mark(s) })
		}
	}
	if n.silentUntil(s.second()) == 0 { // its kubelet notices when it next reports
		s.in(s.between(1, 9), func() { s.returns(n) })
	}
}

// stops lets the controller manager stand still between two seconds. When it continues, its first pass sees what its watches
// had shown before.
func (s *fakeCluster) stops(from, to float64) *fakeCluster {
	s.manager.stopped = append(s.manager.stopped, span{from, to})
	return s.at(to, func() { s.pass(false); s.in(200*time.Millisecond, func() { s.pass(true) }) })
}

// lags lets the watch of Leases of the controller manager show it nothing between two seconds.
func (s *fakeCluster) lags(from, to float64) *fakeCluster {
	s.manager.behind = append(s.manager.behind, span{from, to})
	return s
}

// leads lets another controller manager lead from a second on. It gives each node a fresh grace period.
func (s *fakeCluster) leads(second float64, holder string) *fakeCluster {
	return s.at(second, func() {
		s.manager.leases[0].Holder = holder
		s.manager.leases[0].Transitions++
		for _, n := range s.nodes {
			n.probed = s.now
		}
	})
}
