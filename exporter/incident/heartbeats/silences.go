package heartbeats

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// revisableFor is the time for which a verdict can be revised after the silence has ended.
	revisableFor = time.Hour
	// maxRevisable is the maximum number of silences per node whose verdicts can still be revised.
	maxRevisable = 10
	// rebootShown is the maximum time from the first heartbeat of a rebooted node until the node reports its new
	// bootID. upgradeShown is the maximum time from the first heartbeat of an upgraded kubelet until the kubelet
	// reports its version. A kubelet reports both values in the node status when it starts.
	rebootShown  = 5 * time.Minute
	upgradeShown = time.Minute
)

// node holds the silences of a node, and facts that may explain its next silence.
type node struct {
	// The list revisable holds the silences whose verdicts can still be revised, sorted by time. The map older counts
	// all older silences.
	revisable []*silence
	older     map[kind]total
	// becameLate is the last time at which a heartbeat became late. The field announced describes how the node's
	// departure had been announced by that time. It is empty if there was no announcement.
	becameLate time.Time
	announced  string
	// The field rebooted is the last time at which the node reported a new bootID. The field upgraded is the last time
	// at which the node reported a different kubelet version. The field setBack is the last time at which its clock was
	// set back, and `by` is the size of that clock step.
	rebooted, upgraded, setBack time.Time
	by                          time.Duration
}

// silence is either a silence that belongs to an incident, or the interval before a late heartbeat.
type silence struct {
	*verdict.Silence
	// withinGracePeriod is set if the next heartbeat arrived before the grace period ended. If so, there is no
	// incident.
	withinGracePeriod bool
	// mayBeReboot is set if the node reported a new bootID soon after the silence. The report may be delayed, so the
	// reboot may have caused this silence or a newer one.
	mayBeReboot bool
}

// kind combines the verdict about a silence with a more precise reason.
type kind struct {
	verdict verdict.Verdict
	reason  verdict.Reason
}

// total is a number of silences, together with the end of the newest one.
type total struct {
	count uint64
	last  time.Time
}

func (t *total) add(x total) {
	t.count += x.count
	if x.last.After(t.last) {
		t.last = x.last
	}
}

func (h *Heartbeats) named(name string) *node {
	n := h.nodes[name]
	if n == nil {
		if h.nodes == nil {
			h.nodes = map[string]*node{}
		}
		n = &node{older: map[kind]total{}}
		h.nodes[name] = n
	}
	return n
}

func (n *node) newest() *silence {
	if len(n.revisable) == 0 {
		return nil
	}
	return n.revisable[len(n.revisable)-1]
}

// BecameLate records that a heartbeat is late. The parameter `announced` describes how the node's departure was
// announced. It is empty if there was no announcement.
func (h *Heartbeats) BecameLate(name string, t time.Time, announced string) {
	n := h.named(name)
	n.becameLate, n.announced = t, announced
}

// AddSilence records a silence that belongs to an incident.
func (h *Heartbeats) AddSilence(x *verdict.Silence) { h.add(h.named(x.Node), &silence{Silence: x}) }

// RemoveSilence removes a silence that did not happen after all.
func (h *Heartbeats) RemoveSilence(x *verdict.Silence) {
	n, isX := h.named(x.Node), func(s *silence) bool { return s.Silence == x }
	n.revisable, h.late = slices.DeleteFunc(n.revisable, isX), slices.DeleteFunc(h.late, isX)
}

// NodeRemoved forgets a deleted Node.
func (h *Heartbeats) NodeRemoved(name string) { delete(h.nodes, name) }

// NodeRebooted records that a node reported a new bootID. It returns the silence that the reboot explains, or nil.
func (h *Heartbeats) NodeRebooted(name string, t time.Time) *verdict.Silence {
	n := h.named(name)
	n.rebooted = t
	for _, x := range n.revisable {
		x.mayBeReboot = x.mayBeReboot || t.Sub(x.Ended) <= rebootShown
	}
	x := n.endedBy(t, rebootShown)
	if x != nil {
		x.Rebooted = true
	}
	return x
}

// KubeletUpgraded records that a kubelet reported a different version. It returns the silence that the upgrade
// explains, or nil.
func (h *Heartbeats) KubeletUpgraded(name string, t time.Time) *verdict.Silence {
	n := h.named(name)
	n.upgraded = t
	x := n.endedBy(t, upgradeShown)
	if x != nil {
		x.Upgraded = true
	}
	return x
}

// ClockSetBack records that a node's clock was set back.
func (h *Heartbeats) ClockSetBack(name string, t time.Time, by time.Duration) {
	n := h.named(name)
	n.setBack, n.by = t, by
}

// endedBy returns the silence that a reboot or upgrade at t explains. This is the newest silence if it is ongoing or
// ended at most the time `shown` before t. If a heartbeat became late after the silence, endedBy returns nil. In this
// case, the reboot or upgrade explains the later delay.
func (n *node) endedBy(t time.Time, shown time.Duration) *verdict.Silence {
	x := n.newest()
	switch {
	case x == nil:
		return nil
	case x.Ended.IsZero():
		return x.Silence
	case n.becameLate.After(x.Ended), t.Sub(x.Ended) > shown:
		return nil
	}
	return x.Silence
}

// late returns a silence for a late heartbeat that arrived within the grace period.
func (n *node) late(name string, began, ended time.Time) *silence {
	x := &verdict.Silence{Node: name, Began: began, Ended: ended, Announced: n.announced, Rebooted: n.rebooted.After(began), Upgraded: n.upgraded.After(began)}
	if n.setBack.After(began) {
		x.ClockBack = n.by
	}
	return &silence{Silence: x, withinGracePeriod: true}
}

func (h *Heartbeats) add(n *node, x *silence) {
	if n.revisable = append(n.revisable, x); len(n.revisable) > maxRevisable {
		h.fold(n, 1)
	}
}

// fold removes the given number of silences from n.revisable, oldest first, and adds them to the counts in n.older. The
// verdicts of these silences are then final.
func (h *Heartbeats) fold(n *node, some int) {
	for _, x := range n.revisable[:some] {
		if !h.counts(x) {
			continue
		}
		if k, ok := h.kindOf(x, x.Judgement.Reviewed(), x.Ended); ok {
			sum := n.older[k]
			sum.add(total{1, x.Ended})
			n.older[k] = sum
		}
	}
	n.revisable = slices.Delete(n.revisable, 0, some)
}

// counts reports whether the counters include a silence.
func (h *Heartbeats) counts(x *silence) bool { return x.Judgement != nil && x.Began.After(h.counting) }

// StartCounting sets the counters to zero at t.
func (h *Heartbeats) StartCounting(t time.Time) {
	h.counting = t
	for _, n := range h.nodes {
		clear(n.older)
	}
}

// Sweep drops the silences whose verdicts can no longer be revised, and keeps only their counts.
func (h *Heartbeats) Sweep(t time.Time) {
	for _, n := range h.nodes {
		some := slices.IndexFunc(n.revisable, func(x *silence) bool { return x.Ended.IsZero() || t.Sub(x.Ended) <= revisableFor })
		if some < 0 {
			some = len(n.revisable)
		}
		h.fold(n, some)
	}
}

func (x *silence) length() time.Duration { return x.Ended.Sub(x.Began) }

// isCausedByNode reports whether the node itself caused the silence.
func (x *silence) isCausedByNode() bool {
	return x.Judgement != nil && x.Judgement.Verdict() == verdict.Node && !x.Explained()
}

// kindOf classifies a silence by its current verdict v. The result ok is false if the silence is explained and was
// shorter than the grace period. Such silences do not count.
func (h *Heartbeats) kindOf(x *silence, v verdict.Verdict, now time.Time) (k kind, ok bool) {
	if x.withinGracePeriod && x.Explained() {
		return kind{}, false
	}
	ended := x.Ended
	if ended.IsZero() {
		ended = now
	}
	switch k.verdict = v; {
	case x.withinGracePeriod:
		k.reason = verdict.Late
	case k.verdict != verdict.Node, ended.Sub(x.Began) <= h.Undisturbed():
	case x.Announced != "":
		k.reason = verdict.Announced
	case x.Rebooted:
		k.reason = verdict.Rebooted
	case x.Upgraded:
		k.reason = verdict.Upgraded
	case x.ClockBack > 0:
		k.reason = verdict.ClockSetBack
	case ended.Sub(x.Began) > advice.LongestGrace:
		k.reason = verdict.Down
	default:
		k.reason = verdict.Slow
	}
	return k, true
}

// Silences returns the counts of silences by node, verdict and reason.
func (h *Heartbeats) Silences(now time.Time) (all []incident.Silences) {
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		all = h.silences(all, name, now)
	}
	return all
}

func (h *Heartbeats) silences(all []incident.Silences, name string, now time.Time) []incident.Silences {
	n := h.nodes[name]
	var sums [verdict.Count][verdict.ReasonCount]total
	for k, sum := range n.older {
		sums[k.verdict][k.reason].add(sum)
	}
	for _, x := range n.revisable {
		if !h.counts(x) {
			continue
		}
		if k, ok := h.kindOf(x, x.Judgement.Verdict(), now); ok {
			last := x.Ended
			if last.IsZero() {
				last = now
			}
			sums[k.verdict][k.reason].add(total{1, last})
		}
	}
	for v := range sums {
		for r, sum := range sums[v] {
			if sum.count > 0 {
				all = append(all, incident.Silences{Node: name, Verdict: verdict.Verdict(v), Reason: verdict.Reason(r), Count: sum.count, Last: sum.last})
			}
		}
	}
	return all
}
