package clustertest

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// manager is the kube-controller-manager, with its node controller and its leader election Lease.
type manager struct {
	// behind holds the periods in which the controller manager's Lease watch delivers nothing. stopped holds the
	// periods in which it is not running. holdsBack holds the periods in which it marks no node.
	behind, stopped, holdsBack []span
	// leases holds the Leases of the leader and the API servers. It is empty if kubeflap may not see them.
	leases []event.ControlPlaneLease
	// lost maps an API server's index to the time at which it stops.
	lost map[int]float64
}

// showsControlPlane lets kubeflap see the control-plane Leases, with this number of API servers.
func (c *Cluster) showsControlPlane(servers int) {
	m := &c.manager
	m.lost = map[int]float64{}
	m.leases = []event.ControlPlaneLease{{
		Meta: Meta("lease", "kube-system", event.LeaseControllerManager), RenewTime: c.Now, Holder: "master-1_1",
	}}
	for i := range servers {
		name := event.LeaseAPIServerPrefix + string(rune('a'+i))
		m.leases = append(m.leases, event.ControlPlaneLease{
			Meta: Meta("lease", "kube-system", name), RenewTime: c.Now, Holder: name, Host: "master-" + string(rune('1'+i)),
		})
	}
}

// run renews the control-plane Leases.
func (m *manager) run(c *Cluster) {
	for i := range m.leases {
		every := 10 * time.Second
		if i == 0 {
			every = 2 * time.Second
		}
		var renew func()
		renew = func() {
			stopped := i == 0 && hasAny(m.stopped, c.Second())
			if at, ok := m.lost[i]; ok && c.Second() >= at || i > 0 && i == len(m.leases)-1 && hasAny(c.cut, c.Second()) {
				stopped = true
			}
			if !stopped && c.stalled() == 0 {
				m.leases[i].RenewTime = c.Now
				c.Tell(event.Modified, &m.leases[i])
			}
			c.After(every, renew)
		}
		c.After(every, renew)
	}
}

// monitor runs the node controller every 5 s (node lifecycle controller, monitorNodeHealth).
func (c *Cluster) monitor() {
	c.After(5*time.Second, c.monitor)
	if hasAny(c.manager.stopped, c.Second()) || c.stalled() > 0 {
		return
	}
	c.pass(!hasAny(c.manager.behind, c.Second()))
}

// pass checks all nodes. If live is false, the controller uses the Leases that its watch delivered earlier.
func (c *Cluster) pass(live bool) {
	for _, n := range c.Nodes {
		if n.Gone {
			continue
		}
		if live {
			n.view = n.lease.RenewTime
		}
		if n.renewal.Before(n.view) && c.leases {
			n.renewal, n.probed = n.view, c.Now
		}
		if !n.report.Equal(n.Ready.LastHeartbeatTime) {
			n.report, n.probed, n.renewal = n.Ready.LastHeartbeatTime, c.Now, time.Time{}
		}
		if c.Now.Sub(n.probed) > c.grace && n.Ready.Status != event.StatusUnknown && !hasAny(c.manager.holdsBack, c.Second()) {
			n.mark()
		}
	}
}

// mark sets a node's Ready condition to Unknown and its pods to not ready.
func (n *Node) mark() {
	c := n.cluster
	wasReady := n.Ready.Status == event.StatusTrue
	n.renewal = n.lease.RenewTime
	n.Taints = append(n.Taints, event.Taint{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: c.Now.Truncate(time.Second)})
	n.setReady(event.StatusUnknown, "NodeStatusUnknown")
	if wasReady {
		for i, p := range n.pods() {
			c.After(time.Duration(i+1)*20*time.Millisecond, p.mark)
			if p.service.owner != nil {
				c.After(5*time.Minute, func() { n.evicts(p) })
			}
		}
	}
	if n.silentUntil(c.Second()) == 0 { // the kubelet notices the mark at its next report
		c.After(c.Between(1, 9), n.returns)
	}
}

// stops pauses the controller manager for a period. Its first pass afterwards uses outdated events from before the
// pause.
func (c *Cluster) stops(from, to float64) {
	c.manager.stopped = append(c.manager.stopped, span{from, to})
	c.At(to, func() { c.pass(false); c.After(200*time.Millisecond, func() { c.pass(true) }) })
}

// withManager lets kubeflap see the controller manager's pod with its grace period.
func (c *Cluster) withManager(grace time.Duration) {
	c.grace = grace
	c.Others = append(c.Others, &event.Pod{
		Meta: Meta("pod", "kube-system", "kube-controller-manager-master-1"), Phase: "Running", Owner: "Node/master-1", Node: "master-1",
		Ready:             &event.Condition{Status: event.StatusTrue, LastTransitionTime: c.Now.Add(-time.Hour)},
		ControllerManager: &event.ControllerManager{GracePeriod: grace, Version: c.Version},
	})
}
