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
	// revisedFor is for how long after its end the verdict about a silence may be revised.
	revisedFor = time.Hour
	// maxRevised bounds the silences of a node that may still be revised.
	maxRevised = 10
	// rebootShown and upgradeShown are how soon after its first heartbeat a node reports another bootID, and a kubelet another version: it reports
	// its status when it starts.
	rebootShown  = 5 * time.Minute
	upgradeShown = time.Minute
)

// node has the silences of a node, and what may explain the next one.
type node struct {
	// revised are those whose verdict may be revised, in their order. older counts the others.
	revised []*silence
	older   map[kind]total
	// becameLate is when a heartbeat last became late, announced what had announced the departure of the node by then.
	becameLate time.Time
	announced  string
	// rebooted and upgraded are when another bootID and another version were last reported, setBack is when the clock was last set back, by how much.
	rebooted, upgraded, setBack time.Time
	by                          time.Duration
}

// silence is one of an incident, or a late heartbeat.
type silence struct {
	*verdict.Silence
	// within: the heartbeat was late, but came within the grace period. So there is no incident.
	within bool
	// mayBeReboot: the node reported another bootID soon after it. That may be late, so the reboot may have been an earlier silence than the last one.
	mayBeReboot bool
}

// kind is the decision about a silence.
type kind struct {
	verdict verdict.Verdict
	reason  verdict.Reason
}

// total counts silences. last is when the newest ended.
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
	if len(n.revised) == 0 {
		return nil
	}
	return n.revised[len(n.revised)-1]
}

// BecameLate records that a heartbeat is late. announced is what announced the departure of the node, empty if nothing did.
func (h *Heartbeats) BecameLate(name string, t time.Time, announced string) {
	n := h.named(name)
	n.becameLate, n.announced = t, announced
}

// Silent records a silence that belongs to an incident.
func (h *Heartbeats) Silent(x *verdict.Silence) { h.add(h.named(x.Node), &silence{Silence: x}) }

// NotSilent withdraws a silence that did not happen.
func (h *Heartbeats) NotSilent(x *verdict.Silence) {
	n, isX := h.named(x.Node), func(s *silence) bool { return s.Silence == x }
	n.revised, h.late = slices.DeleteFunc(n.revised, isX), slices.DeleteFunc(h.late, isX)
}

// Removed forgets a Node that was deleted.
func (h *Heartbeats) Removed(name string) { delete(h.nodes, name) }

// Rebooted records that a node reports another bootID. It returns the silence that this explains, or nil if there is none.
func (h *Heartbeats) Rebooted(name string, t time.Time) *verdict.Silence {
	n := h.named(name)
	n.rebooted = t
	for _, x := range n.revised {
		x.mayBeReboot = x.mayBeReboot || t.Sub(x.Ended) <= rebootShown
	}
	x := n.endedBy(t, rebootShown)
	if x != nil {
		x.Rebooted = true
	}
	return x
}

// Upgraded records that a kubelet reports another version. It returns the silence that this explains, or nil if there is none.
func (h *Heartbeats) Upgraded(name string, t time.Time) *verdict.Silence {
	n := h.named(name)
	n.upgraded = t
	x := n.endedBy(t, upgradeShown)
	if x != nil {
		x.Upgraded = true
	}
	return x
}

// SetBack records that the clock of a node was set back.
func (h *Heartbeats) SetBack(name string, t time.Time, by time.Duration) {
	n := h.named(name)
	n.setBack, n.by = t, by
}

// endedBy is the silence that lasts, or that ended a short time before t. A late interval that lasts is not known yet.
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

// late returns a late interval that ended within the grace period.
func (n *node) late(name string, began, ended time.Time) *silence {
	x := &verdict.Silence{Node: name, Began: began, Ended: ended, Announced: n.announced, Rebooted: n.rebooted.After(began), Upgraded: n.upgraded.After(began)}
	if n.setBack.After(began) {
		x.ClockBack = n.by
	}
	return &silence{Silence: x, within: true}
}

func (h *Heartbeats) add(n *node, x *silence) {
	if n.revised = append(n.revised, x); len(n.revised) > maxRevised {
		h.fold(n, 1)
	}
}

// fold counts the oldest silences, whose verdicts are not revised any more.
func (h *Heartbeats) fold(n *node, some int) {
	for _, x := range n.revised[:some] {
		if x.Judgement == nil {
			continue
		}
		if k, ok := h.kindOf(x, x.Judgement.Reviewed(), x.Ended); ok {
			sum := n.older[k]
			sum.add(total{1, x.Ended})
			n.older[k] = sum
		}
	}
	n.revised = slices.Delete(n.revised, 0, some)
}

// Sweep counts the silences whose verdicts are not revised any more.
func (h *Heartbeats) Sweep(t time.Time) {
	for _, n := range h.nodes {
		some := slices.IndexFunc(n.revised, func(x *silence) bool { return x.Ended.IsZero() || t.Sub(x.Ended) <= revisedFor })
		if some < 0 {
			some = len(n.revised)
		}
		h.fold(n, some)
	}
}

// length is how long an interval lasted.
func (x *silence) length() time.Duration { return x.Ended.Sub(x.Began) }

// own reports whether the silence was the node's own fault.
func (x *silence) own() bool {
	return x.Judgement != nil && x.Judgement.Verdict() == verdict.Node && !x.Explained()
}

// kindOf classifies a silence whose current verdict is v. ok is false if the silence does not count: it missed no grace period,
// and is explained.
func (h *Heartbeats) kindOf(x *silence, v verdict.Verdict, now time.Time) (k kind, ok bool) {
	if x.within && x.Explained() {
		return kind{}, false
	}
	ended := x.Ended
	if ended.IsZero() {
		ended = now
	}
	switch k.verdict = v; {
	case x.within:
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

// Silences counts the silences of each node that had some, by node, verdict and reason.
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
	for _, x := range n.revised {
		if x.Judgement == nil {
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
