package main

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// fakeNode is a machine with its kubelet, and the node controller's data about it.
type fakeNode struct {
	event.Node
	lease event.Lease
	gone  bool
	// silent holds the periods in which the kubelet cannot reach the API. late holds delays of single renewals, each
	// with the time from which it applies.
	silent  []span
	late    []lateness
	renewed time.Time
	// clock is the time by which the node's clock is ahead. It is negative if the clock is behind.
	clock time.Duration

	probed          time.Time
	renewal, report time.Time // the node controller's cache holds these times
	view            time.Time // view is the renewTime that the node controller's watch has delivered
}

type lateness struct {
	from float64
	d    time.Duration
}

func (s *fakeCluster) addNode() *fakeNode {
	i := len(s.nodes)
	n := &fakeNode{Node: event.Node{
		Meta: metaOf("node", "", nodeNamed(i+1)), KubeletVersion: s.version, BootID: "boot-1",
		Ready:  &event.Condition{Status: event.StatusTrue, Reason: "KubeletReady", LastTransitionTime: s.now.Add(-time.Hour), LastHeartbeatTime: s.now.Add(-time.Minute)},
		Labels: map[string]string{"topology.kubernetes.io/zone": string(rune('a' + i%3)), "node.kubernetes.io/instance-type": "m5.large"},
	}}
	n.lease = event.Lease{Meta: metaOf("lease", "kube-node-lease", n.Name), RenewTime: s.now.Add(-seconds(float64(i%10) + 0.5)), DurationSeconds: int32(s.interval.Seconds() * 4)}
	s.nodes = append(s.nodes, n)
	return n
}

// join starts a kubelet.
func (s *fakeCluster) join(n *fakeNode) {
	n.lease.RenewTime = s.now.Add(-(s.now.Sub(n.lease.RenewTime) % s.interval))
	n.renewed = n.lease.RenewTime
	n.lease.DurationSeconds = int32(s.interval.Seconds() * 4)
	n.KubeletVersion = s.version
	n.probed, n.renewal, n.view, n.report = s.now, n.lease.RenewTime, n.lease.RenewTime, n.Ready.LastHeartbeatTime
	s.after(n.lease.RenewTime.Add(s.interval).Sub(s.now)%s.interval+50*time.Millisecond, func() { s.beat(n) })
	if s.leases {
		s.after(s.between(10, 300), func() { s.reportStatus(n) })
	}
}

// silentUntil returns the time at which a silent kubelet reaches the API again, or 0 if it is not silent.
func (n *fakeNode) silentUntil(t float64) float64 {
	for _, x := range n.silent {
		if x.has(t) {
			return x.to
		}
	}
	return 0
}

// beat sends a heartbeat. It renews the Lease or, without Leases, reports the status.
func (s *fakeCluster) beat(n *fakeNode) {
	if n.gone {
		return
	}
	if back := max(n.silentUntil(s.second()), s.stalled()); back > 0 {
		if back < forever {
			s.after(seconds(back-s.second())+s.between(0, 1.5), func() { s.beat(n) })
		}
		return
	}
	n.renewed = s.now
	if s.leases {
		n.lease.RenewTime = s.now.Add(n.clock)
		s.sendToWatch(event.Modified, &n.lease)
	} else {
		n.Ready.LastHeartbeatTime = s.now.Add(n.clock).Truncate(time.Second)
		s.sendToWatch(event.Modified, &n.Node)
	}
	if n.Ready.Status == event.StatusUnknown {
		s.after(s.between(0.1, 2), func() { s.returns(n) })
	}
	next := s.interval + s.between(0, 0.04*s.interval.Seconds())
	for i, l := range n.late {
		if l.from <= s.second() {
			next = l.d
			n.silent = append(n.silent, span{s.second() + 0.001, s.second() + l.d.Seconds()})
			n.late = slices.Delete(n.late, i, i+1)
			break
		}
	}
	s.after(next, func() { s.beat(n) })
}

// reportStatus reports a node's status every five minutes, even if it is unchanged.
func (s *fakeCluster) reportStatus(n *fakeNode) {
	if n.gone {
		return
	}
	if n.silentUntil(s.second()) == 0 && s.stalled() == 0 {
		n.Ready.LastHeartbeatTime = s.now.Add(n.clock).Truncate(time.Second)
		s.sendToWatch(event.Modified, &n.Node)
	}
	s.after(5*time.Minute, func() { s.reportStatus(n) })
}

// setReady writes a node's Ready condition.
func (s *fakeCluster) setReady(n *fakeNode, to event.Status, reason string) {
	n.Ready.Status, n.Ready.Reason = to, reason
	n.Ready.LastTransitionTime = s.now.Truncate(time.Second)
	if to != event.StatusUnknown {
		n.Ready.LastHeartbeatTime = s.now.Add(n.clock).Truncate(time.Second)
	}
	s.sendToWatch(event.Modified, &n.Node)
}

// returns makes a node Ready after it was Unknown. Some seconds later, the kubelet corrects its pods.
func (s *fakeCluster) returns(n *fakeNode) {
	if n.gone || n.silentUntil(s.second()) > 0 || n.Ready.Status == event.StatusTrue {
		return
	}
	n.Taints = slices.DeleteFunc(n.Taints, func(t event.Taint) bool { return t.Key == "node.kubernetes.io/unreachable" })
	s.setReady(n, event.StatusTrue, "KubeletReady")
	s.after(s.between(1, 8), func() {
		for _, p := range s.podsOn(n) {
			if p.Ready.Status == event.StatusFalse && p.Ready.Reason == "" && p.DeletionTimestamp.IsZero() {
				p.Ready.Status, p.Ready.LastTransitionTime = event.StatusTrue, p.started
				s.sendToWatch(event.Modified, &p.Pod)
				s.syncSoon(p.service)
			}
		}
	})
}

// silence cuts the kubelets of nodes off from the API for a period. Nodes are numbered from 1.
func (s *fakeCluster) silence(from, to float64, nodes ...int) {
	for _, i := range nodes {
		s.nodes[i-1].silent = append(s.nodes[i-1].silent, span{from, to})
	}
}

// slow sets the intervals in seconds between a node's renewals, beginning at the given second.
func (s *fakeCluster) slow(node int, from float64, intervals ...float64) {
	for _, d := range intervals {
		s.nodes[node-1].late = append(s.nodes[node-1].late, lateness{from, seconds(d)})
	}
}

// weakens makes some nodes silent again and again, independently of each other: on average once in the given number of
// seconds, for 43 to 58 s.
func (s *fakeCluster) weakens(from, to float64, nodes int, every float64) {
	for i := range nodes {
		for at := from + s.random.ExpFloat64()*every; at < min(to, 4*3600); at += 60 + s.random.ExpFloat64()*every {
			s.silence(at, at+s.between(43, 58).Seconds(), 1+i*len(s.nodes)/nodes)
		}
	}
}

// change modifies a node at the given second.
func (s *fakeCluster) change(second float64, node int, how func(*event.Node)) {
	s.at(second, func() {
		n := s.nodes[node-1]
		how(&n.Node)
		if !n.gone {
			s.sendToWatch(event.Modified, &n.Node)
		}
	})
}

// deletes deletes a node at the given second, and its pods shortly afterwards.
func (s *fakeCluster) deletes(second float64, node int) {
	s.at(second, func() {
		n := s.nodes[node-1]
		n.gone = true
		s.deleted++
		s.sendToWatch(event.Deleted, &n.Node)
		s.sendToWatch(event.Deleted, &n.lease)
		for _, p := range s.podsOn(n) {
			s.after(s.between(20, 40), func() { p.remove(s) })
		}
	})
}

// recreates creates a deleted node again with the same name. change modifies the data that the machine reports.
func (s *fakeCluster) recreates(second float64, node int, change func(*event.Node)) {
	s.at(second, func() {
		n := s.nodes[node-1]
		n.gone, n.UID, n.Taints = false, event.ParseUID(string(n.Name)+"/again"), nil
		n.Ready = &event.Condition{Status: event.StatusTrue, Reason: "KubeletReady", LastTransitionTime: s.now.Truncate(time.Second), LastHeartbeatTime: s.now.Truncate(time.Second)}
		change(&n.Node)
		s.sendToWatch(event.Added, &n.Node)
		n.lease.UID, n.lease.RenewTime = event.ParseUID("lease/"+n.Name+"/again"), s.now
		s.sendToWatch(event.Added, &n.lease)
		s.join(n)
	})
}

// drains evicts a node's pods one by one. Their replacements start on the next nodes.
func (s *fakeCluster) drains(second float64, node int) {
	s.at(second, func() {
		for i, p := range s.podsOn(s.nodes[node-1]) {
			s.after(time.Duration(i)*5*time.Second, func() { p.stop(s, "EvictionByEvictionAPI"); p.service.replace(s, p) })
		}
	})
}

// reboots restarts machines, which are silent for a period. Afterwards they report a new bootID and are not ready at
// first.
func (s *fakeCluster) reboots(from, to float64, nodes ...int) {
	s.silence(from, to, nodes...)
	for _, i := range nodes {
		n := s.nodes[i-1]
		s.at(to, func() {
			if n.gone {
				return
			}
			n.BootID += "-again"
			n.Taints = slices.DeleteFunc(n.Taints, func(t event.Taint) bool { return t.Key == "node.kubernetes.io/unreachable" })
			s.setReady(n, event.StatusFalse, "KubeletNotReady")
			for _, p := range s.podsOn(n) {
				s.after(s.between(1, 4), func() { p.restart(s) })
			}
		})
		s.at(to+5, func() {
			if !n.gone {
				s.setReady(n, event.StatusTrue, "KubeletReady")
			}
		})
	}
}

// upgrades stops kubelets for a period and starts another version of them.
func (s *fakeCluster) upgrades(from, to float64, nodes ...int) {
	s.silence(from, to, nodes...)
	for _, i := range nodes {
		n := s.nodes[i-1]
		s.at(to, func() {
			n.KubeletVersion = "v1.31.5"
			s.sendToWatch(event.Modified, &n.Node)
		})
	}
}
