package incident

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

// story is how an incident is told: its scope, and what the remedy speaks of.
type story uint8

const (
	storyNode story = iota + 1
	storyControlPlane
	// storyGrace: nothing is late but by the grace period, which is as short as the heartbeat.
	storyGrace
	storyWorkload
	storyService
)

// subject is what an incident follows.
type subject struct {
	story           story
	namespace, name string
	cause           cause.Cause
}

// key tells incidents apart. A node's causes follow from each other and are one
// incident, the others each have their own remedy.
func (s subject) key() string {
	switch s.story {
	case storyNode:
		return "node/" + s.name
	case storyControlPlane:
		return "control plane"
	case storyGrace:
		return "grace period"
	case storyWorkload:
		return "workload/" + s.namespace + "/" + s.name + "/" + s.cause.String()
	}
	return "service/" + s.namespace + "/" + s.name + "/" + s.cause.String()
}

const (
	maxNodes    = 100
	maxServices = 50
	maxAliases  = 20
)

// record is an incident while it grows.
type record struct {
	subject
	id    string
	also  []string
	start time.Time
	// recovered is when everything had recovered; zero while it has not.
	recovered time.Time
	// harmless: nothing speaks for harm yet, a roll-out looks like that.
	harmless, isShown, settled bool
	// into is the incident that this one turned out to be part of.
	into *record
	told told
	// alone is when an incident of one node is taken for that: until then it may turn
	// out to be part of one of many nodes. Zero once it is known.
	alone time.Time
	timer timer

	// What has not recovered: nodes, addresses and since when they are out, Services
	// and since when they are down; conflict is a time bomb that has not gone off, wiped one that has.
	openNodes       map[string]struct{}
	out             map[addressKey]time.Time
	down            map[serviceKey]time.Time
	conflict, wiped bool
	bomb, wipe      *stretch

	nodes           []string
	nodesLeftOut    others
	nodesKnown      int
	services        []*effect
	servicesLeftOut others
	lost            int
	bounces         int
	// turned is how often nodes turned not Ready or Unknown, turnedUnknown the latter.
	turned, turnedUnknown int
	outages, resets       int
	outageTime            time.Duration
	byCause               map[cause.Cause]int
	unknown               bool
	longest, stale        time.Duration
	again                 int
	// consumerBounces are by window, as consumers.Windows has them.
	consumerBounces [consumers.NumWindows]int

	evidence bounded[*fact]
	spans    bounded[*stretch]
}

// effect is what an incident did to a Service.
type effect struct {
	key                    serviceKey
	lost, bounces, outages int
	outageTime             time.Duration
}

func newRecord(s subject, t time.Time, trigger uint64) *record {
	r := &record{
		subject: s, id: idOf(s.key(), t, trigger), start: t, byCause: map[cause.Cause]int{},
		evidence: newBounded[*fact](12, 24), spans: newBounded[*stretch](24, 72),
	}
	r.makeOpen()
	switch s.cause {
	case cause.PodDeleted, cause.PodEvicted, cause.PodCompleted,
		cause.InPlaceUpdate, cause.ReadinessGate, cause.ServiceChanged:
		r.harmless = true
	}
	return r
}

// makeOpen makes the maps of what has not recovered.
func (r *record) makeOpen() {
	r.openNodes, r.out, r.down = map[string]struct{}{}, map[addressKey]time.Time{}, map[serviceKey]time.Time{}
}

// idOf makes an ID that goes into a URL as it is, out of what the incident follows and the write in the cluster that it began with:
// every replica of kubeflap makes the same. Where that write is not known, as in older recordings, the time stands for it.
func idOf(key string, t time.Time, trigger uint64) string {
	if trigger == 0 {
		trigger = uint64(t.UnixMilli())
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", key, trigger)
	return fmt.Sprintf("%016x", h.Sum64())
}

func (r *record) root() *record {
	for r.into != nil {
		r = r.into
	}
	return r
}

// ongoing: something harmful has not recovered.
func (r *record) ongoing() bool {
	return len(r.openNodes) > 0 || len(r.out) > 0 || len(r.down) > 0 || r.lacks()
}

// lacks: what was wiped is not there again. Without a conflict, as beside pods that match, nobody waits for it.
func (r *record) lacks() bool { return r.wiped && r.conflict }

func (r *record) isOpen() bool { return r.ongoing() || r.conflict }

// quietBy reports whether it is over for good by t.
func (r *record) quietBy(t time.Time) bool {
	return r.settled || !r.recovered.IsZero() && t.Sub(r.recovered) > quiet
}

func (r *record) state(t time.Time) State {
	switch {
	case r.settled && r.isOpen():
		// Pushed out by newer ones.
		return StateEnded
	case r.ongoing():
		return StateRunning
	case r.conflict:
		return StatePending
	case r.quietBy(t):
		return StateEnded
	}
	return StateRecovered
}

func (r *record) addNode(name string) {
	if slices.Contains(r.nodes, name) {
		return
	}
	if len(r.nodes) == maxNodes {
		r.nodesLeftOut = r.nodesLeftOut.with(hashOf(name))
		return
	}
	r.nodes = append(r.nodes, name)
}

// nodeCount is how many nodes it hit.
func (r *record) nodeCount() int { return len(r.nodes) + len(r.nodesLeftOut) }

// effectOn is what it did to a Service; of what is over the limit only the sum is kept.
func (r *record) effectOn(key serviceKey) *effect {
	for _, e := range r.services {
		if e.key == key {
			return e
		}
	}
	e := &effect{key: key}
	if len(r.services) == maxServices {
		r.servicesLeftOut = r.servicesLeftOut.with(hashOf(key.String()))
	} else {
		r.services = append(r.services, e)
	}
	return e
}

// merge makes this incident part of another.
func (l *Log) merge(r, into *record) {
	r.into = into
	if into.start.After(r.start) {
		into.start = r.start
	}
	if len(into.also) < maxAliases {
		into.also = append(into.also, r.id)
	}
	for name := range r.openNodes {
		into.openNodes[name] = struct{}{}
	}
	for key, since := range r.out {
		into.out[key] = since
	}
	for key, since := range r.down {
		into.down[key] = since
	}
	into.takeCounts(r)
	into.takeLeftOut(r)
	for _, f := range r.evidence.all() {
		into.add(*f)
	}
	for _, s := range r.spans.all() {
		into.spans.add(s)
	}
	l.bidFarewell(r, Joined, into.id)
	l.settle(r)
	if i := slices.Index(l.shown, r); i >= 0 {
		l.shown = slices.Delete(l.shown, i, i+1)
	}
	l.touched(into, r.recovered)
}

func (r *record) takeCounts(from *record) {
	r.lost, r.bounces = r.lost+from.lost, r.bounces+from.bounces
	r.outages, r.outageTime = r.outages+from.outages, r.outageTime+from.outageTime
	r.turned, r.turnedUnknown = r.turned+from.turned, r.turnedUnknown+from.turnedUnknown
	r.unknown = r.unknown || from.unknown
	r.longest = max(r.longest, from.longest)
	for i, n := range from.consumerBounces {
		r.consumerBounces[i] += n
	}
	for why, n := range from.byCause {
		r.byCause[why] += n
	}
	for _, e := range from.services {
		sum := r.effectOn(e.key)
		sum.lost, sum.bounces, sum.outages = sum.lost+e.lost, sum.bounces+e.bounces, sum.outages+e.outages
		sum.outageTime += e.outageTime
	}
	for _, name := range from.nodes {
		r.addNode(name)
	}
}

// takeLeftOut takes over what another leaves out and this one does not list.
func (r *record) takeLeftOut(from *record) {
	nodes, services := map[uint64]bool{}, map[uint64]bool{}
	for _, name := range r.nodes {
		nodes[hashOf(name)] = true
	}
	for _, e := range r.services {
		services[hashOf(e.key.String())] = true
	}
	for hash := range from.nodesLeftOut {
		if !nodes[hash] {
			r.nodesLeftOut = r.nodesLeftOut.with(hash)
		}
	}
	for hash := range from.servicesLeftOut {
		if !services[hash] {
			r.servicesLeftOut = r.servicesLeftOut.with(hash)
		}
	}
}
