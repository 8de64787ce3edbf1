package track

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// naive is the simplest possible model of the tracker. It keeps all objects as they arrived, and computes all results
// from scratch after each event. A list is a single change from all known objects to all listed objects.
type naive struct {
	// dark holds the newest break of each watch. The field before holds the preceding break.
	dark, before map[event.Kind]span
	now          time.Time
	source       event.Kind
	forced       bool
	objects      map[event.Kind]objects
	listing      map[event.Kind]objects
	synced       map[event.Kind]bool
	// works holds the watches that work.
	works map[event.Kind]bool
	// vanished holds the objects that the newest list does not contain.
	vanished objects
	services map[event.UID]*tally
	nodes    map[event.UID]*nodeTally
	pulses   map[string]*pulse
	spaces   map[string]*pods.Namespace
	// emptied is the time at which a namespace's last pod was deleted.
	emptied map[string]time.Time
	// lit holds the periods in which the Lease watch worked. The last one is ongoing if it has no end.
	lit []span
	// shown holds the times at which the Lease watch showed an object.
	shown []time.Time
	// leased is the time at which the first list of Leases was complete.
	leased time.Time
}

type objects map[event.UID]event.Object

// how describes how a change was seen.
type how int

const (
	byWatch how = iota
	byFirstList
	byRelist
)

const (
	modelGrace  = 40 * time.Second
	modelWindow = 30 * time.Second
)

func newNaive(source event.Kind) *naive {
	m := &naive{
		source: cmp.Or(source, event.KindEndpointSlice), forced: source != 0,
		objects: map[event.Kind]objects{}, listing: map[event.Kind]objects{}, synced: map[event.Kind]bool{},
		services: map[event.UID]*tally{}, nodes: map[event.UID]*nodeTally{},
		pulses: map[string]*pulse{}, spaces: map[string]*pods.Namespace{}, emptied: map[string]time.Time{},
		works: map[event.Kind]bool{},
		dark:  map[event.Kind]span{}, before: map[event.Kind]span{},
	}
	for _, k := range event.Kinds() {
		m.objects[k] = objects{}
	}
	return m
}

func (m *naive) apply(e event.Event) {
	m.now = e.Seen
	if e.Kind == event.KindLease && e.Object != nil {
		m.shown = append(m.shown, m.now)
	}
	switch e.Type {
	case event.Listing:
		m.listing[e.Kind] = objects{}
	case event.Listed:
		m.listing[e.Kind][e.Object.Metadata().UID] = e.Object
	case event.Synced:
		m.listed(e.Kind)
	case event.Added, event.Modified, event.Deleted:
		after := maps.Clone(m.objects[e.Kind])
		after[e.Object.Metadata().UID] = e.Object
		if e.Type == event.Deleted {
			delete(after, e.Object.Metadata().UID)
		}
		m.change(e.Kind, after, byWatch)
	case event.Up, event.Down:
		m.lights(e)
		m.works[e.Kind] = e.Type == event.Up
	case event.Unavailable:
		if e.Kind == event.KindEndpointSlice && !m.forced {
			m.source = event.KindEndpoints
			m.countAll(0)
		}
	}
}

func (m *naive) listed(k event.Kind) {
	h := byRelist
	if !m.synced[k] {
		h = byFirstList
	}
	m.synced[k] = true
	m.change(k, m.listing[k], h)
	m.lights(event.Event{Kind: k, Type: event.Up})
	m.works[k] = true
	if k == event.KindEndpointSlice && !m.forced && m.source != k {
		m.source = k
		m.countAll(0)
	}
}

func (m *naive) change(k event.Kind, after objects, h how) {
	before := m.objects[k]
	m.objects[k], m.vanished = after, objects{}
	for id, o := range before {
		if h == byRelist && after[id] == nil {
			m.vanished[id] = o
		}
	}
	switch k {
	case event.KindNode:
		m.nodesChanged(before, after, h)
	case event.KindLease:
		m.leasesChanged(before, after, h)
	case event.KindPod:
		m.podsChanged(before, after, h)
	case event.KindService:
		m.servicesChanged(before, after)
	default:
		if h == byFirstList {
			k = 0
		}
		m.countAll(k)
	}
}

// Services

// tally holds the counts of the Service with one UID. They start when the Service or one of its slices is first seen.
type tally struct {
	created time.Time
	// states, hands and endpoints describe the state after the previous event.
	states    map[event.UID]string
	hands     hands
	endpoints *event.Endpoints

	flips       map[string]uint64
	lost        uint32
	outages     uint32
	ever, wiped bool
	resets      map[bool]uint64
}

func (m *naive) tally(id event.UID) *tally {
	if m.services[id] == nil {
		m.services[id] = &tally{
			states: map[event.UID]string{},
			flips:  map[string]uint64{}, resets: map[bool]uint64{},
		}
	}
	return m.services[id]
}

// servicesChanged counts nothing, because everything that exists when a Service is created is its baseline.
func (m *naive) servicesChanged(before, after objects) {
	for id := range before {
		if after[id] == nil {
			delete(m.services, id)
		}
	}
	for id := range after {
		t := m.tally(id)
		if before[id] == nil {
			t.created = m.now
			m.count(id, t, true)
		}
		if len(m.service(id).Selector) == 0 {
			t.wiped = false
		}
	}
}

// countAll updates the counts of each Service that exists or owns a slice. If nothing counts, `changed` is 0, and otherwise
// the resource that changed. A change that may be older than the Service does not count.
func (m *naive) countAll(changed event.Kind) {
	mentioned := map[event.UID]bool{}
	for id := range m.objects[event.KindService] {
		mentioned[id] = true
	}
	for _, o := range m.objects[event.KindEndpointSlice] {
		mentioned[o.(*event.EndpointSlice).Owner] = true
	}
	delete(mentioned, event.UID{})
	for id := range m.services {
		if !mentioned[id] {
			delete(m.services, id)
		}
	}
	for id := range mentioned {
		t := m.tally(id)
		unknown := m.service(id) == nil && !m.works[event.KindService]
		m.count(id, t, changed == 0 || unknown || m.mayHaveLeft(changed).Before(t.created))
	}
}

func (m *naive) service(id event.UID) *event.Service {
	s, _ := m.objects[event.KindService][id].(*event.Service)
	return s
}

func (m *naive) slicesOf(id event.UID) []*event.EndpointSlice {
	return m.slicesAmong(m.objects[event.KindEndpointSlice], id)
}

func (m *naive) slicesAmong(some objects, id event.UID) []*event.EndpointSlice {
	var found []*event.EndpointSlice
	s := m.service(id)
	for _, o := range some {
		x, ok := o.(*event.EndpointSlice)
		if !ok {
			continue
		}
		unowned := x.Owner.IsZero() && s != nil && x.Namespace == s.Namespace && x.Service == s.Name
		if x.Owner == id || unowned {
			found = append(found, x)
		}
	}
	return found
}

func (m *naive) endpointsOf(id event.UID) []*event.Endpoints {
	return m.endpointsAmong(m.objects[event.KindEndpoints], id)
}

func (m *naive) endpointsAmong(some objects, id event.UID) []*event.Endpoints {
	var found []*event.Endpoints
	s := m.service(id)
	for _, o := range some {
		if x, ok := o.(*event.Endpoints); ok && s != nil && x.Namespace == s.Namespace && x.Name == s.Name {
			found = append(found, x)
		}
	}
	return found
}

// addressesOf returns all of a Service's addresses that objects of a kind contain.
func (m *naive) addressesOf(id event.UID, k event.Kind) []event.Address {
	var found []event.Address
	if k == event.KindEndpoints {
		for _, o := range m.endpointsOf(id) {
			found = append(found, o.Addresses...)
		}
		return found
	}
	for _, o := range m.slicesOf(id) {
		found = append(found, o.Addresses...)
	}
	return found
}

func (m *naive) statesOf(id event.UID) map[event.UID]string {
	states := map[event.UID]string{}
	for _, want := range []string{"terminating", "not ready", "ready"} {
		for _, a := range m.addressesOf(id, m.source) {
			is := "not ready"
			if a.Terminating {
				is = "terminating"
			}
			if a.Ready {
				is = "ready"
			}
			if is == want {
				states[a.UID] = is
			}
		}
	}
	return states
}

func number(states map[event.UID]string, state string) int {
	n := 0
	for _, s := range states {
		if s == state {
			n++
		}
	}
	return n
}

func (m *naive) count(id event.UID, t *tally, quiet bool) {
	before, now := t.states, m.statesOf(id)
	all := maps.Clone(before)
	maps.Copy(all, now)
	leftOut, leavesOut := m.leavesOut(id, t)
	for a := range all {
		unknown := before[a] == "" && leftOut || now[a] == "" && leavesOut
		if !quiet && before[a] != now[a] && !unknown {
			t.move(before[a], now[a])
		}
	}
	t.states = now
	if number(before, "ready") > 0 && number(now, "ready") == 0 && !quiet {
		t.outages++
	}
	m.countHands(id, t, quiet)
}

// leavesOut reports whether the Endpoints omitted addresses before the event, and whether they do so now.
func (m *naive) leavesOut(id event.UID, t *tally) (leftOut, leavesOut bool) {
	before := t.endpoints
	t.endpoints = nil
	if found := m.endpointsOf(id); m.source == event.KindEndpoints && len(found) == 1 {
		t.endpoints = found[0]
	}
	now := t.endpoints
	if before == nil || now == nil || before.UID != now.UID {
		return false, false
	}
	return before.Truncated, now.Truncated
}

// mayHaveLeft returns the earliest time at which a change that is now seen can have happened.
func (m *naive) mayHaveLeft(k event.Kind) time.Time {
	x := m.dark[k]
	if !x.start.IsZero() && (x.end.IsZero() || m.now.Before(x.end.Add(2*time.Second))) {
		return x.start
	}
	return m.now
}

// darkens records, for each watch, the newest break that lasted at least a second.
func (m *naive) darkens(e event.Event) {
	x := m.dark[e.Kind]
	switch {
	case e.Type == event.Down && m.synced[e.Kind] && (x.start.IsZero() || !x.end.IsZero()):
		m.before[e.Kind], m.dark[e.Kind] = x, span{start: m.now}
	case e.Type == event.Up && !x.start.IsZero() && x.end.IsZero():
		m.dark[e.Kind] = span{x.start, m.now}
		if m.now.Sub(x.start) < time.Second {
			m.dark[e.Kind] = m.before[e.Kind]
		}
	}
}

func (t *tally) move(from, to string) {
	if (from == "ready" || from == "not ready") && (to == "ready" || to == "not ready") {
		t.flips[to]++
	}
	if from == "ready" {
		t.lost++
	}
}

// hands counts the manual addresses by kind, those in slices that no controller manages, and the addresses of pods.
type hands struct {
	by              map[event.Kind]int
	others, derived int
}

// handsOf counts the addresses of a Service. Mirrored slices repeat those of Endpoints.
func (m *naive) handsOf(id event.UID) hands {
	h := hands{by: map[event.Kind]int{}}
	add := func(k event.Kind, addresses []event.Address, manager string) {
		for _, a := range addresses {
			switch {
			case !a.ByHand:
				h.derived++
			case k == event.KindEndpoints, manager == "endpointslice-controller.k8s.io":
				h.by[k]++
			case manager != "endpointslicemirroring-controller.k8s.io":
				h.others++
			case !m.synced[event.KindEndpoints]:
				h.by[k]++
			}
		}
	}
	for _, o := range m.slicesOf(id) {
		add(event.KindEndpointSlice, o.Addresses, o.ManagedBy)
	}
	for _, o := range m.endpointsOf(id) {
		add(event.KindEndpoints, o.Addresses, "")
	}
	return h
}

// countHands counts the manually managed addresses. Nobody saw who deleted a vanished object, so that is no reset.
func (m *naive) countHands(id event.UID, t *tally, quiet bool) {
	now := m.handsOf(id)
	quiet = quiet || len(m.slicesAmong(m.vanished, id))+len(m.endpointsAmong(m.vanished, id)) > 0
	s := m.service(id)
	selector := s != nil && len(s.Selector) > 0
	for _, k := range []event.Kind{event.KindEndpointSlice, event.KindEndpoints} {
		before, is := t.hands.by[k], now.by[k]
		if k == event.KindEndpointSlice && !selector {
			before, is = before+t.hands.others, is+now.others
		}
		// If pods match the selector, or did so until now, manual addresses are foreign.
		foreign := selector && now.derived+t.hands.derived > 0
		if before > 0 && is == 0 && s != nil && !quiet && !foreign {
			t.resets[selector]++
			t.wiped = selector
		}
	}
	t.hands = now
	t.ever = t.ever || now.by[event.KindEndpointSlice]+now.by[event.KindEndpoints]+now.others > 0
	t.wiped = t.wiped && now.derived == 0
}

// foreignAddresses counts the addresses in slices without a manager, and the manual ones in Endpoints.
func (m *naive) foreignAddresses(id event.UID, s *event.Service) int {
	foreign := map[event.UID]bool{}
	for _, o := range m.slicesOf(id) {
		for _, a := range o.Addresses {
			if o.ManagedBy == "" {
				foreign[a.UID] = true
			}
		}
	}
	for _, o := range m.endpointsOf(id) {
		for _, a := range o.Addresses {
			if a.ByHand {
				foreign[a.UID] = true
			}
		}
	}
	if len(s.Selector) == 0 {
		return 0
	}
	return len(foreign)
}

func (m *naive) readServices() []services.Service {
	var all []services.Service
	for id, o := range m.objects[event.KindService] {
		s, t := o.(*event.Service), m.services[id]
		v := services.Service{
			Namespace: s.Namespace, Name: s.Name, Created: t.created, Type: s.Type, Selector: len(s.Selector) > 0,
			Ready: number(t.states, "ready"), NotReady: number(t.states, "not ready"), Terminating: number(t.states, "terminating"),
			Flips: services.Flips{TurnedReady: t.flips["ready"], TurnedNotReady: t.flips["not ready"]},
			Causes: losses.Causes{
				ResetsWithSelector: t.resets[true], ResetsSelectorless: t.resets[false],
			},
			Manual:           t.ever,
			SelectorConflict: len(s.Selector) > 0 && (t.hands.by[event.KindEndpoints] > 0 && t.hands.derived == 0 || t.wiped),
			ForeignAddresses: m.foreignAddresses(id, s),
		}
		all = append(all, v)
	}
	return all
}

// Nodes

// nodeTally holds the counts of the node with one UID.
type nodeTally struct {
	created, since time.Time
	// periods counts the periods in which the node is not Ready. inPeriod is set if there is one.
	periods  nodes.Periods
	inPeriod bool
	turned   [3]uint64
}

// addTime adds the time since the last change of Ready to the current period.
func (t *nodeTally) addTime(now time.Time) {
	if t.inPeriod {
		t.periods.Time += now.Sub(t.since)
	}
	t.since = now
}

// pulse holds the heartbeats of a node name, as the node controller sees them.
type pulse struct {
	// began is the time from which lateness is counted.
	began time.Time
	// beats are all heartbeats of the node. The first one may be a guess.
	beats   []time.Time
	guessed bool
	// byClock is the time of the first heartbeat by the node's own clock.
	byClock time.Time
	// told is the time of the last heartbeat by the node's own clock. timed is set if it arrived without delay.
	told  time.Time
	timed bool
	// saved is the renewTime that the node controller holds.
	saved     *time.Time
	intervals []interval
	// found holds the times at which the node controller found the node lost.
	found []time.Time
}

type interval struct {
	end    time.Time
	length time.Duration
}

type span struct{ start, end time.Time }

func (m *naive) pulse(name string) *pulse {
	if m.pulses[name] == nil {
		m.pulses[name] = &pulse{began: m.now}
	}
	return m.pulses[name]
}

func (m *naive) lease(name string) *event.Lease {
	for _, o := range m.objects[event.KindLease] {
		if l := o.(*event.Lease); l.Name == name {
			return l
		}
	}
	return nil
}

func (m *naive) nodeNamed(name string) *event.Node {
	for _, o := range m.objects[event.KindNode] {
		if n := o.(*event.Node); n.Name == name {
			return n
		}
	}
	return nil
}

func statusOf(n *event.Node) event.Condition {
	if n.Ready == nil {
		return event.Condition{}
	}
	return *n.Ready
}

func (m *naive) nodesChanged(before, after objects, h how) {
	for id, o := range before {
		if after[id] == nil {
			delete(m.nodes, id)
			delete(m.pulses, o.(*event.Node).Name)
		}
	}
	for id, o := range after {
		n := o.(*event.Node)
		if old, known := before[id].(*event.Node); known {
			m.nodeChanged(old, n, h)
			continue
		}
		is := statusOf(n)
		found := h == byFirstList && n.Ready != nil && is.Status != event.StatusTrue && is.Reason != "NodeStatusNeverUpdated"
		m.nodes[id] = &nodeTally{created: m.now, since: m.now, inPeriod: found}
		m.newPulse(n, h)
	}
}

func (m *naive) newPulse(n *event.Node, h how) {
	p := &pulse{began: m.now}
	m.pulses[n.Name] = p
	byClock := []time.Time{m.now}
	if h == byFirstList {
		byClock = nil
		if n.Ready != nil {
			byClock = append(byClock, n.Ready.LastHeartbeatTime)
		}
	}
	if l := m.lease(n.Name); l != nil {
		p.saved = &l.RenewTime
		byClock = append(byClock, l.RenewTime)
	}
	m.guess(p, byClock...)
	if h != byFirstList && len(p.beats) > 0 && p.beats[0].Equal(m.now) {
		p.byClock = time.Time{} // this time is from kubeflap's clock
	}
}

// guess uses the latest of the times that the node reported, limited to now.
func (m *naive) guess(p *pulse, byClock ...time.Time) {
	for _, byNode := range byClock {
		t := byNode
		if t.After(m.now) {
			t = m.now
		}
		if len(p.beats) == 0 || t.After(p.beats[0]) {
			p.beats, p.guessed, p.byClock = []time.Time{t}, true, byNode
		}
	}
}

func (m *naive) nodeChanged(old, n *event.Node, h how) {
	t, p := m.nodes[n.UID], m.pulse(n.Name)
	was, is := statusOf(old), statusOf(n)
	if is.Reason != "NodeStatusNeverUpdated" && !was.LastHeartbeatTime.Equal(is.LastHeartbeatTime) {
		m.takeLease(p, n.Name)
		m.beat(p, is.LastHeartbeatTime)
	}
	switch {
	case was.Status != is.Status:
		t.addTime(m.now)
		if was.Status == event.StatusTrue {
			t.periods.Count++
		}
		t.inPeriod = is.Status != event.StatusTrue && (t.inPeriod || was.Status == event.StatusTrue)
		t.turned[is.Status]++
		if is.Reason == "NodeStatusUnknown" {
			p.found = append(p.found, m.now)
			m.takeLease(p, n.Name)
		}
	case h == byRelist && !was.LastTransitionTime.IsZero() && !was.LastTransitionTime.Equal(is.LastTransitionTime):
		t.turned[is.Status]++
		t.addTime(m.now)
		t.periods.Count++
		t.inPeriod = is.Status != event.StatusTrue
		if is.Status == event.StatusTrue {
			t.turned[event.StatusUnknown]++
		} else {
			t.turned[event.StatusTrue]++
		}
	}
}

// takeLease makes the node controller save the current Lease.
func (m *naive) takeLease(p *pulse, name string) {
	p.saved = nil
	if l := m.lease(name); l != nil {
		p.saved = &l.RenewTime
	}
}

func (m *naive) leasesChanged(before, after objects, h how) {
	for id, o := range after {
		l := o.(*event.Lease)
		if m.nodeNamed(l.Name) == nil || before[id] == o {
			continue
		}
		p := m.pulse(l.Name)
		switch {
		case h == byFirstList:
			p.saved = &l.RenewTime
			m.guess(p, l.RenewTime)
		case p.saved == nil || p.saved.Before(l.RenewTime):
			p.saved = &l.RenewTime
			m.beat(p, l.RenewTime)
		}
	}
}

func (m *naive) beat(p *pulse, byNode time.Time) {
	p.beats = append(p.beats, m.now)
	last := len(p.beats) - 2
	spans := last >= 0 && m.spans(p, p.beats[last], byNode)
	defer func() { p.told, p.timed = byNode, spans || m.sees(m.now) }()
	switch {
	case last == 0 && p.guessed && m.sees(m.now) && m.lost(p):
		length := m.now.Sub(p.beats[0])
		if !p.byClock.IsZero() {
			length = max(byNode.Sub(p.byClock), m.now.Sub(latest(m.watched(p), m.lit[len(m.lit)-1].start)))
		}
		p.intervals = append(p.intervals, interval{m.now, length})
	case last >= 0 && !(last == 0 && p.guessed) && (spans || m.sees(p.beats[last])):
		p.intervals = append(p.intervals, interval{m.now, m.now.Sub(p.beats[last])})
	}
}

// spans reports whether nothing was missed since the last heartbeat although the watch was broken: all watches work,
// and the node's clock measures the same interval.
func (m *naive) spans(p *pulse, last, byNode time.Time) bool {
	nodes, lit := m.dark[event.KindNode], m.lit[len(m.lit)-1]
	works := lit.end.IsZero() && (nodes.start.IsZero() || !nodes.end.IsZero())
	return works && p.timed && (m.now.Sub(last)-byNode.Sub(p.told)).Abs() <= 5*time.Second
}

// doubtful reports whether the node is Ready, and only its own clock shows that it was lost when kubeflap started.
func (m *naive) doubtful(n *event.Node, p *pulse) bool {
	unseen := len(p.beats) == 1 && p.guessed && !latest(p.beats[0], m.lit[len(m.lit)-1].start).Add(modelGrace).After(m.watched(p))
	return unseen && statusOf(n).Status == event.StatusTrue && m.now.Sub(m.watched(p)) <= 11500*time.Millisecond
}

// watched returns the time at which heartbeats first became visible.
func (m *naive) watched(p *pulse) time.Time { return latest(p.began, m.leased) }

// lost reports whether the first interval exceeded the grace period, before or after kubeflap started.
func (m *naive) lost(p *pulse) bool {
	if m.late(p, modelGrace) > 0 {
		return true
	}
	first := m.lit[0].end
	if first.IsZero() {
		first = m.now
	}
	silent := first.Sub(m.watched(p)) > 11500*time.Millisecond
	return !p.beats[0].Add(modelGrace).After(m.watched(p)) && (silent || len(p.found) > 0)
}

// sees reports whether an interval from a heartbeat until now can be measured. Heartbeats in the first two seconds
// after a break may have happened earlier.
func (m *naive) sees(last time.Time) bool {
	now := m.lit[len(m.lit)-1]
	return now.end.IsZero() && (len(m.lit) == 1 || !last.Before(now.start.Add(2*time.Second)))
}

// lights records the periods in which the Lease watch works. It ignores breaks of less than a second.
func (m *naive) lights(e event.Event) {
	m.darkens(e)
	if e.Kind != event.KindLease {
		return
	}
	last := len(m.lit) - 1
	switch {
	case last < 0:
		m.leased = m.now
		m.lit = []span{{}} // the first list contains older heartbeats, so the period has no start
	case e.Type == event.Down && m.lit[last].end.IsZero():
		m.lit[last].end = m.now
	case e.Type == event.Up && m.lit[last].end.IsZero():
	case e.Type == event.Up && m.now.Sub(m.lit[last].end) < time.Second:
		m.lit[last].end = time.Time{}
	case e.Type == event.Up:
		m.lit = append(m.lit, span{start: m.now})
	}
}

// late counts the intervals that exceeded the limit while the watch worked.
func (m *naive) late(p *pulse, limit time.Duration) uint64 {
	n := uint64(0)
	for i, beat := range p.beats {
		next, came := m.now, i+1 < len(p.beats)
		if came {
			next = p.beats[i+1]
		}
		if mark := m.passes(p, beat, next, came, limit); mark.After(p.began) {
			n++
		}
	}
	return n
}

// passes returns the time at which an interval first exceeds a limit while the watch works, or zero. Proof is required:
// the watch has shown another Lease since then, the node controller has marked the node, or one more second has passed.
func (m *naive) passes(p *pulse, beat, next time.Time, came bool, limit time.Duration) time.Time {
	for _, s := range m.lit {
		start, end := latest(beat, s.start), next
		if !s.end.IsZero() && s.end.Before(next) {
			end = s.end
		}
		mark := start.Add(limit)
		known := func(shown time.Time) bool { return !shown.Before(mark) && !shown.After(end) }
		if end.Sub(start) > limit && (end.Sub(mark) > time.Second || came && known(next) || slices.ContainsFunc(m.shown, known) || slices.ContainsFunc(p.found, known)) {
			return mark
		}
	}
	return time.Time{}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *naive) longest(p *pulse) time.Duration {
	longest := time.Duration(0)
	for _, x := range p.intervals {
		if m.now.Sub(x.end) <= 10*time.Minute {
			longest = max(longest, x.length)
		}
	}
	now, s := m.now, m.lit[len(m.lit)-1]
	if !s.end.IsZero() {
		now = s.end
	}
	if len(p.beats) > 0 {
		longest = max(longest, now.Sub(latest(p.beats[len(p.beats)-1], s.start)))
	}
	return longest
}

func (m *naive) readNodes() []nodes.Node {
	var all []nodes.Node
	for id, o := range m.objects[event.KindNode] {
		n := o.(*event.Node)
		t, p := m.nodes[id], m.pulses[n.Name]
		v := nodes.Node{
			Name: n.Name, Created: t.created, Ready: statusOf(n).Status,
			HeartbeatKnown: len(p.beats) > 0 && !m.doubtful(n, p), LongestInterval: m.longest(p),
			Counters: nodes.Counters{
				LateHeartbeats: m.late(p, modelGrace/2), MissedHeartbeats: m.late(p, modelGrace),
				Turned: t.turned, Unplanned: t.periods,
			},
		}
		if len(p.beats) > 0 {
			v.HeartbeatAge = m.now.Sub(p.beats[len(p.beats)-1])
		}
		if t.inPeriod {
			v.Unplanned.Time += m.now.Sub(t.since)
		}
		all = append(all, v)
	}
	return all
}

// Pods

func (m *naive) podsChanged(before, after objects, h how) {
	for id, o := range after {
		p := o.(*event.Pod)
		if m.spaces[p.Namespace] == nil || m.isForgotten(p.Namespace) {
			m.spaces[p.Namespace] = &pods.Namespace{Name: p.Namespace}
		}
		old, known := before[id].(*event.Pod)
		if known && h == byWatch {
			compareContainers(m.spaces[p.Namespace], old, p)
		}
		if known && old.Ready.Status == event.StatusTrue && p.Ready.Status != event.StatusTrue {
			m.spaces[p.Namespace].Unready++
		}
	}
	for _, o := range after {
		delete(m.emptied, o.Metadata().Namespace)
	}
	for _, o := range before {
		name := o.Metadata().Namespace
		if _, noted := m.emptied[name]; !noted && !slices.ContainsFunc(slices.Collect(maps.Values(after)), func(o event.Object) bool { return o.Metadata().Namespace == name }) {
			m.emptied[name] = m.now
		}
	}
}

// isForgotten reports whether the namespace has had no pod for more than an hour.
func (m *naive) isForgotten(name string) bool {
	since, empty := m.emptied[name]
	return empty && m.now.Sub(since) > time.Hour
}

func compareContainers(n *pods.Namespace, old, p *event.Pod) {
	updated := false
	for _, c := range p.Containers {
		for _, was := range old.Containers {
			if c.Name != was.Name || old.Phase != "Running" {
				continue
			}
			updated = updated || c.Image != was.Image
			if c.Restarts > was.Restarts && old.Ready.Status == event.StatusTrue && p.Ready.Status == event.StatusTrue {
				n.SilentRestarts++
			}
		}
	}
	if updated {
		n.InPlaceUpdates++
		if p.Gates == 0 {
			n.UngatedUpdates++
		}
	}
}

func (m *naive) readNamespaces() []pods.Namespace {
	var all []pods.Namespace
	for name, n := range m.spaces {
		if !m.isForgotten(name) {
			all = append(all, *n)
		}
	}
	return all
}

// The simulated cluster

// cluster is a small cluster with random events and six watches.
type cluster struct {
	*rand.Rand
	t       *testing.T
	now     time.Time
	objects map[event.Kind]objects
	streams map[event.Kind]*stream
	clocks  map[string]time.Duration
	serial  int
	sinks   []func(event.Event)
	sent    []event.Event
	// listing is the resource that is being listed.
	listing event.Kind
	// steady is set if the watches work all the time, and Endpoints are never truncated.
	steady bool
}

// stream is the watch of a resource. Events wait while it lags or is broken, and are lost if it must list again.
type stream struct {
	lags, broken, lost, absent bool
	waiting                    []event.Event
}

func newCluster(t *testing.T, seed uint64, absent event.Kind, sinks ...func(event.Event)) *cluster {
	c := &cluster{
		Rand: rand.New(rand.NewPCG(seed, 1)), t: t, now: zero, objects: map[event.Kind]objects{},
		streams: map[event.Kind]*stream{}, clocks: map[string]time.Duration{}, sinks: sinks,
	}
	for _, k := range event.Kinds() {
		c.objects[k], c.streams[k] = objects{}, &stream{absent: true}
	}
	for range 40 {
		c.something()
	}
	kinds := event.Kinds()
	// Endpoints come first, before the slices that mirror them. The other kinds are in random order.
	c.Shuffle(len(kinds)-1, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	slices.Reverse(kinds)
	for _, k := range kinds {
		if c.streams[k].absent = k == absent; k == absent {
			c.tell(event.Event{Kind: k, Type: event.Unavailable})
		} else {
			c.list(k)
		}
	}
	return c
}

func (c *cluster) tell(e event.Event) {
	e.Seen = c.now
	c.sent = append(c.sent, e)
	for _, sink := range c.sinks {
		sink(e)
	}
}

func (c *cluster) list(k event.Kind) {
	c.tell(event.Event{Kind: k, Type: event.Listing})
	for _, o := range c.pickAll(c.objects[k]) {
		if c.chance(5) {
			c.list(k) // the list was interrupted and starts again
			return
		}
		c.tell(event.Event{Kind: k, Type: event.Listed, Object: o})
		c.meanwhile(k)
	}
	waiting := c.streams[k].waiting
	*c.streams[k] = stream{}
	c.tell(event.Event{Kind: k, Type: event.Synced})
	for _, e := range waiting {
		c.tell(e)
	}
}

// meanwhile makes something else happen during a large list. Events of the listed resource wait until the list is
// complete.
func (c *cluster) meanwhile(k event.Kind) {
	if c.listing != 0 || !c.chance(20) || !(k == event.KindPod || k == event.KindEndpoints || k == event.KindEndpointSlice) {
		return
	}
	c.listing = k
	s := c.streams[k]
	*s = stream{lags: true, waiting: s.waiting}
	c.something()
	c.listing = 0
}

func (c *cluster) emit(typ event.Type, o event.Object) {
	e := event.Event{Kind: o.Kind(), Type: typ, Object: o}
	switch s := c.streams[e.Kind]; {
	case s.absent || s.lost:
	case s.broken || s.lags:
		s.waiting = append(s.waiting, e)
	default:
		c.tell(e)
	}
}

func (c *cluster) put(o event.Object) {
	typ := event.Modified
	if c.objects[o.Kind()][o.Metadata().UID] == nil {
		typ = event.Added
	}
	c.objects[o.Kind()][o.Metadata().UID] = o
	c.emit(typ, o)
}

func (c *cluster) remove(o event.Object) {
	delete(c.objects[o.Kind()], o.Metadata().UID)
	c.emit(event.Deleted, o)
}

// catchUp delivers the waiting events.
func (c *cluster) catchUp(k event.Kind) {
	waiting := c.streams[k].waiting
	*c.streams[k] = stream{}
	for _, e := range waiting {
		c.tell(e)
	}
}

func (c *cluster) newUID() event.UID {
	c.serial++
	return id(fmt.Sprint("object ", c.serial))
}

func (c *cluster) chance(percent int) bool { return c.IntN(100) < percent }

// pickAll returns all objects in a random order that only depends on the seed.
func (c *cluster) pickAll(from objects) []event.Object {
	all := slices.SortedFunc(maps.Values(from), func(a, b event.Object) int {
		return strings.Compare(a.Metadata().UID.String(), b.Metadata().UID.String())
	})
	c.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func pick[T event.Object](c *cluster, k event.Kind) (T, bool) {
	var none T
	all := c.pickAll(c.objects[k])
	if len(all) == 0 {
		return none, false
	}
	return all[0].(T), true
}

func (c *cluster) named(k event.Kind, name string) event.Object {
	for _, o := range c.objects[k] {
		if o.Metadata().Name == name {
			return o
		}
	}
	return nil
}

// something makes a random event happen after a random time.
func (c *cluster) something() {
	c.now = c.now.Add(time.Duration(c.IntN(4000)) * time.Millisecond)
	switch n := c.IntN(100); {
	case n < 25:
		c.nodeDoes()
	case n < 35:
		c.serviceDoes()
	case n < 65:
		c.sliceDoes()
	case n < 80:
		c.endpointsDo()
	case n < 90:
		c.podDoes()
	default:
		c.watchDoes()
	}
}

func (c *cluster) watchDoes() {
	k := event.Kinds()[c.IntN(len(event.Kinds()))]
	s := c.streams[k]
	switch {
	case s.absent || k == c.listing || c.steady:
	case s.lags:
		c.catchUp(k)
	case s.lost:
		c.list(k)
	case s.broken:
		c.tell(event.Event{Kind: k, Type: event.Up})
		c.catchUp(k)
	case c.chance(20):
		c.tell(event.Event{Kind: k, Type: event.Down})
		c.now = c.now.Add(100 * time.Millisecond)
		c.tell(event.Event{Kind: k, Type: event.Up})
	case c.chance(50):
		c.tell(event.Event{Kind: k, Type: event.Down, Reason: "connection refused"})
		s.broken, s.lost = true, c.chance(60)
	case k != event.KindLease && k != event.KindNode:
		s.lags = true
	}
}

func (c *cluster) nodeDoes() {
	name := fmt.Sprint("node-", c.IntN(3))
	n, _ := c.named(event.KindNode, name).(*event.Node)
	switch what := c.IntN(100); {
	case n == nil:
		c.put(&event.Node{
			Meta:  event.Meta{UID: c.newUID(), Name: name},
			Ready: &event.Condition{Status: notReady, LastHeartbeatTime: c.now, LastTransitionTime: c.now},
		})
		delete(c.clocks, name)
		c.renew(name)
	case what < 3:
		c.remove(n)
		if l := c.named(event.KindLease, name); l != nil {
			c.remove(l)
		}
	case what < 70:
		c.renew(name)
	case what < 75:
		c.clocks[name] -= time.Duration(c.IntN(300)) * time.Second
	default:
		c.report(*n)
	}
}

// renew renews a node's Lease. It creates no Lease while the node watch is broken, because the watch could not show the
// new node.
func (c *cluster) renew(name string) {
	if nodes := c.streams[event.KindNode]; c.named(event.KindLease, name) == nil && (nodes.broken || nodes.lost) {
		return
	}
	l := event.Lease{Meta: event.Meta{UID: c.newUID(), Name: name}}
	if old, ok := c.named(event.KindLease, name).(*event.Lease); ok {
		l = *old
	}
	l.RenewTime = c.now.Add(c.clocks[name])
	c.put(&l)
}

// report writes a node's status, either as the kubelet or as the node controller.
func (c *cluster) report(n event.Node) {
	r := *n.Ready
	to := []event.Status{ready, ready, notReady, unknown}[c.IntN(4)]
	if r.Status != to {
		r.LastTransitionTime = c.now.Add(c.clocks[n.Name])
	}
	switch {
	case to != unknown:
		r.Reason, r.LastHeartbeatTime = "", c.now.Add(c.clocks[n.Name])
	case r.Status != unknown:
		r.Reason = "NodeStatusUnknown"
	}
	r.Status, n.Ready = to, &r
	c.put(&n)
}

func (c *cluster) serviceDoes() {
	name := fmt.Sprint("web-", c.IntN(2))
	s, _ := c.named(event.KindService, name).(*event.Service)
	switch {
	case s == nil:
		c.create(name)
	case c.chance(30):
		c.remove(s)
		if c.chance(60) {
			c.create(name)
		}
	default:
		again := *s
		again.Selector = c.selector()
		c.put(&again)
	}
}

func (c *cluster) create(name string) {
	c.put(&event.Service{Meta: event.Meta{UID: c.newUID(), Namespace: "shop", Name: name}, Type: "ClusterIP", Selector: c.selector()})
}

func (c *cluster) selector() map[string]string {
	if c.chance(50) {
		return nil
	}
	return map[string]string{"app": "web"}
}

func (c *cluster) sliceDoes() {
	o, ok := pick[*event.EndpointSlice](c, event.KindEndpointSlice)
	switch n := c.IntN(100); {
	case !ok || n < 15:
		c.newSlice()
	case n < 30:
		c.remove(o)
	case n < 45:
		c.moveAddresses(o)
	default:
		again := *o
		again.Addresses = c.addresses(!o.Owner.IsZero())
		c.put(&again)
	}
}

// newSlice creates a slice that is owned by the Service, manually managed, or a mirror.
func (c *cluster) newSlice() {
	s, ok := pick[*event.Service](c, event.KindService)
	if !ok {
		return
	}
	uid := c.newUID()
	o := &event.EndpointSlice{Meta: event.Meta{UID: uid, Namespace: "shop", Name: "slice-" + uid.String()}, Service: s.Name}
	switch c.IntN(4) {
	case 0:
	case 1:
		o.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	default:
		o.Owner, o.ManagedBy = s.UID, "endpointslice-controller.k8s.io"
	}
	o.Addresses = c.addresses(!o.Owner.IsZero())
	c.put(o)
}

// moveAddresses moves addresses from one slice to another of the same Service, and updates the two slices in random
// order.
func (c *cluster) moveAddresses(from *event.EndpointSlice) {
	to, ok := pick[*event.EndpointSlice](c, event.KindEndpointSlice)
	if !ok || to == from || to.Owner != from.Owner || to.Service != from.Service {
		return
	}
	emptied, filled := *from, *to
	filled.Addresses, emptied.Addresses = slices.Concat(to.Addresses, from.Addresses), nil
	if c.chance(50) {
		c.put(&filled)
		c.put(&emptied)
		return
	}
	c.put(&emptied)
	c.put(&filled)
}

// addresses returns a random choice of the addresses of five pods and, unless derived is set, of two manual entries.
func (c *cluster) addresses(derived bool) []event.Address {
	var some []event.Address
	for range c.IntN(4) {
		n := c.IntN(7)
		a := event.Address{IP: fmt.Sprint("10.0.0.", n), UID: id(fmt.Sprint("pod ", n)), ByHand: n > 4}
		if a.ByHand && derived {
			continue
		}
		a.Ready, a.Terminating = c.chance(50), c.chance(20)
		some = append(some, a)
	}
	return some
}

func (c *cluster) endpointsDo() {
	o, ok := pick[*event.Endpoints](c, event.KindEndpoints)
	switch n := c.IntN(100); {
	case !ok || n < 15:
		name := fmt.Sprint("web-", c.IntN(2))
		if c.named(event.KindEndpoints, name) == nil {
			c.put(&event.Endpoints{Meta: event.Meta{UID: c.newUID(), Namespace: "shop", Name: name}, Addresses: c.addresses(false)})
		}
	case n < 25:
		c.remove(o)
	default:
		again := *o
		again.Addresses, again.Truncated = c.addresses(false), c.chance(10) && !c.steady
		if again.Addresses != nil && c.chance(20) {
			again.Addresses = nil
		}
		c.put(&again)
	}
}

func (c *cluster) podDoes() {
	name := fmt.Sprint("pod-", c.IntN(4))
	p, _ := c.named(event.KindPod, name).(*event.Pod)
	if p != nil && c.chance(10) {
		c.remove(p)
		return
	}
	uid := c.newUID()
	if p != nil {
		uid = p.UID
	}
	again := &event.Pod{
		Meta:  event.Meta{UID: uid, Namespace: fmt.Sprint("space-", len(name)%2+int(uid[0])%2), Name: name},
		Phase: []string{"Pending", "Running", "Running"}[c.IntN(3)],
		Ready: &event.Condition{Status: event.Status(c.IntN(3))},
		Gates: int(uid[1]) % 2,
	}
	if again.Phase == "Running" {
		again.Node = fmt.Sprint("node-", int(uid[2])%3)
	}
	for _, i := range c.Perm(2) {
		again.Containers = append(again.Containers, event.Container{
			Name: fmt.Sprint("c", i), Image: fmt.Sprint("app:", c.IntN(2)), Restarts: int32(c.IntN(3)),
		})
	}
	c.put(again)
}

func TestFoldCountsWhatTheObviousModelCounts(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	worlds := []struct {
		name           string
		source, absent event.Kind
	}{
		{"addresses from slices", 0, 0},
		{"addresses from Endpoints because it is set", event.KindEndpoints, 0},
		{"addresses from Endpoints because there are no slices", 0, event.KindEndpointSlice},
		{"Endpoints cannot be read", 0, event.KindEndpoints},
	}
	for _, w := range worlds {
		for seed := range seeds {
			t.Run(fmt.Sprint(w.name, ", seed ", seed), func(t *testing.T) {
				compareWithModel(t, seed, w.source, w.absent)
			})
		}
	}
}

func compareWithModel(t *testing.T, seed uint64, source, absent event.Kind) {
	f := New(Settings{GracePeriod: modelGrace, BounceWindow: modelWindow, AddressSource: source})
	m := newNaive(source)
	c := newCluster(t, seed, absent, func(e event.Event) { f.Apply(e) }, m.apply)
	for step := range 3000 {
		if step == 2000 && absent == event.KindEndpointSlice {
			c.list(absent) // it can be watched from now on
		}
		c.something()
		m.now = c.now
		c.same(step, "Services", linesOf(withoutCauses(f.Services(c.now, nil))), linesOf(m.readServices()))
		c.same(step, "namespaces", linesOf(withoutTransitions(f.Namespaces(m.now, nil))), linesOf(m.readNamespaces()))
		if step%5 == 0 {
			c.same(step, "nodes", linesOf(withoutClocks(f.Nodes(c.now, nil))), linesOf(m.readNodes()))
		}
		if step%3 == 0 { // several changes can happen between two queries
			c.same(step, "pods that are Ready on lost nodes", readyOnLost(f.Misreported(c.now, nil)), recountReadyOnLost(f, m))
		}
	}
	f.Settle() // all classes are final
	c.same(3000, "losses and outages", lostBy(f.Services(c.now, nil)), m.lostByServices())
}

// lostBy returns the numbers of losses and outages of each Service, without their classes.
func lostBy(all []services.Service) (lines []string) {
	for _, s := range all {
		lines = append(lines, fmt.Sprint(s.Name, " ", sumOf(s.Lost), " ", sumOf(s.Outages)))
	}
	slices.Sort(lines)
	return lines
}

func (m *naive) lostByServices() (lines []string) {
	for id, o := range m.objects[event.KindService] {
		lines = append(lines, fmt.Sprint(o.Metadata().Name, " ", m.services[id].lost, " ", m.services[id].outages))
	}
	slices.Sort(lines)
	return lines
}

func readyOnLost(all []pods.Misreported) []string {
	return linesOf(slices.DeleteFunc(all, func(m pods.Misreported) bool { return m.Kind != pods.ReadyOnLostNode }))
}

// recountReadyOnLost visits all pods, unlike the tracker, which keeps counts.
func recountReadyOnLost(f *Tracker, m *naive) []string {
	counts, lost := map[string]int{}, f.nodes.Lost(m.now)
	for _, o := range m.objects[event.KindPod] {
		if p := o.(*event.Pod); lost[p.Node] && p.Ready != nil && p.Ready.Status == ready {
			counts[p.Namespace]++
		}
	}
	var all []pods.Misreported
	for name, n := range counts {
		all = append(all, pods.Misreported{Namespace: name, Kind: pods.ReadyOnLostNode, Pods: n})
	}
	return linesOf(all)
}

// linesOf formats each element as a line, and sorts the lines.
func linesOf[T any](all []T) []string {
	var lines []string
	for _, x := range all {
		lines = append(lines, fmt.Sprintf("%+v", x))
	}
	slices.Sort(lines)
	return lines
}

func (c *cluster) same(step int, what string, got, want []string) {
	if slices.Equal(got, want) {
		return
	}
	c.t.Helper()
	for _, e := range c.sent[max(0, len(c.sent)-60):] {
		object, _ := json.Marshal(e.Object)
		c.t.Logf("%6.1f %s %s %s", e.Seen.Sub(zero).Seconds(), e.Type, e.Kind, object)
	}
	c.t.Fatalf("%s after step %d:\ngot\n%s\nwant\n%s", what, step, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// withoutCauses removes the causes and classes, which the model does not compute. Other tests cover them.
func withoutCauses(all []services.Service) []services.Service {
	for i := range all {
		all[i].Losses, all[i].LastLoss, all[i].LastCause = [cause.Count]uint32{}, time.Time{}, cause.Unknown
		all[i].Lost, all[i].Outages, all[i].OutageTime = [cause.NumClasses]uint32{}, [cause.NumClasses]uint32{}, [cause.NumClasses]time.Duration{}
		all[i].ClassSince = [cause.NumClasses]time.Time{}
		all[i].Diverging, all[i].LastReset, all[i].HasPods, all[i].StaleReadds = 0, losses.Reset{}, false, services.ByWindow{}
	}
	return all
}

func withoutTransitions(all []pods.Namespace) []pods.Namespace {
	for i := range all {
		all[i].Transitions = [3][cause.Count]uint64{}
	}
	return all
}

func TestSameEventsGiveTheSameFindingsInTheSameOrder(t *testing.T) {
	for seed := range uint64(4) {
		var found [2][]transition.Transition
		var trackers [2]func(event.Event)
		for i := range trackers {
			f := New(Settings{GracePeriod: modelGrace, BounceWindow: modelWindow})
			trackers[i] = func(e event.Event) { found[i] = append(found[i], f.Apply(e)...) }
		}
		c := newCluster(t, seed, 0, trackers[0], trackers[1])
		for range 2000 {
			c.something()
		}
		for i := range found[0] {
			if i >= len(found[1]) || !reflect.DeepEqual(found[0][i], found[1][i]) {
				t.Fatalf("seed %d: transition %d is %s, and again %s", seed, i, found[0][i], found[1][i])
			}
		}
	}
}

func withoutClocks(all []nodes.Node) []nodes.Node {
	for i := range all {
		all[i].ClockOffset, all[i].ClockKnown = 0, false
	}
	return all
}
