package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// fakeManager is the kube-controller-manager, with its node controller and its leader election Lease.
type fakeManager struct {
	// behind holds the periods in which the controller manager's Lease watch delivers nothing. stopped holds the
	// periods in which it is not running. holdsBack holds the periods in which it marks no node.
	behind, stopped, holdsBack []span
	// leases holds the Leases of the leader and the API servers. It is empty if kubeflap may not see them.
	leases []event.ControlPlaneLease
	// lost maps an API server's index to the time at which it stops.
	lost map[int]float64
	// cut holds the periods in which the last API server cannot renew its Lease.
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

// showsControlPlane lets kubeflap see the control-plane Leases, with this number of API servers.
func (s *fakeCluster) showsControlPlane(servers int) {
	m := &s.manager
	m.lost = map[int]float64{}
	m.leases = []event.ControlPlaneLease{{
		Meta: metaOf("lease", "kube-system", event.LeaseControllerManager), RenewTime: s.now, Holder: "master-1_1",
	}}
	for i := range servers {
		name := event.LeaseAPIServerPrefix + string(rune('a'+i))
		m.leases = append(m.leases, event.ControlPlaneLease{
			Meta: metaOf("lease", "kube-system", name), RenewTime: s.now, Holder: name, Host: "master-" + string(rune('1'+i)),
		})
	}
}

// run renews the control-plane Leases.
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
				m.leases[i].RenewTime = s.now
				s.sendToWatch(event.Modified, &m.leases[i])
			}
			s.after(every, renew)
		}
		s.after(every, renew)
	}
}

// monitor runs the node controller every 5 s (node lifecycle controller, monitorNodeHealth).
func (s *fakeCluster) monitor() {
	s.after(5*time.Second, s.monitor)
	if hasAny(s.manager.stopped, s.second()) || s.stalled() > 0 {
		return
	}
	s.pass(!hasAny(s.manager.behind, s.second()))
}

// pass checks all nodes. If live is false, the controller uses the Leases that its watch delivered earlier.
func (s *fakeCluster) pass(live bool) {
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		if live {
			n.view = n.lease.RenewTime
		}
		if n.renewal.Before(n.view) && s.leases {
			n.renewal, n.probed = n.view, s.now
		}
		if !n.report.Equal(n.Ready.LastHeartbeatTime) {
			n.report, n.probed, n.renewal = n.Ready.LastHeartbeatTime, s.now, time.Time{}
		}
		if s.now.Sub(n.probed) > s.grace && n.Ready.Status != event.StatusUnknown && !hasAny(s.manager.holdsBack, s.second()) {
			s.mark(n)
		}
	}
}

// mark sets a node's Ready condition to Unknown and its pods to not ready.
func (s *fakeCluster) mark(n *fakeNode) {
	wasReady := n.Ready.Status == event.StatusTrue
	n.renewal = n.lease.RenewTime
	n.Taints = append(n.Taints, event.Taint{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: s.now.Truncate(time.Second)})
	s.setReady(n, event.StatusUnknown, "NodeStatusUnknown")
	if wasReady {
		for i, p := range s.podsOn(n) {
			s.after(time.Duration(i+1)*20*time.Millisecond, func() { p.mark(s) })
		}
	}
	if n.silentUntil(s.second()) == 0 { // the kubelet notices the mark at its next report
		s.after(s.between(1, 9), func() { s.returns(n) })
	}
}

// stops pauses the controller manager for a period. Its first pass afterwards uses outdated events from before the
// pause.
func (s *fakeCluster) stops(from, to float64) {
	s.manager.stopped = append(s.manager.stopped, span{from, to})
	s.at(to, func() { s.pass(false); s.after(200*time.Millisecond, func() { s.pass(true) }) })
}

// withManager lets kubeflap see the controller manager's pod with its grace period.
func (s *fakeCluster) withManager(grace time.Duration) {
	s.grace = grace
	s.others = append(s.others, &event.Pod{
		Meta: metaOf("pod", "kube-system", "kube-controller-manager-master-1"), Phase: "Running", Owner: "Node/master-1", Node: "master-1",
		Ready:             &event.Condition{Status: event.StatusTrue, LastTransitionTime: s.now.Add(-time.Hour)},
		ControllerManager: &event.ControllerManager{GracePeriod: grace, Version: s.version},
	})
}
