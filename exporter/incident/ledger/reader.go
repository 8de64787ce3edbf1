package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// standsFor is how long the metrics show the verdict of an incident after its recovery. nodesStandFor is how long they
// show the number of its lost nodes after the recovery of the last one.
const (
	standsFor     = 10 * time.Minute
	nodesStandFor = 3 * time.Minute
)

// Reader answers questions about the incidents of a ledger. Each question contains a time, and moves the ledger's
// current time forward. Reader is safe for concurrent use.
type Reader struct {
	mu sync.Mutex
	l  *Ledger
}

// NewReader returns a reader of the ledger.
func NewReader(l *Ledger) *Reader { return &Reader{l: l} }

// Change calls a function that may change the ledger.
func (q *Reader) Change(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
}

// at returns the ledger as of t. The caller must call unlock.
func (q *Reader) at(t time.Time) (l *Ledger, unlock func()) {
	q.mu.Lock()
	q.l.Advance(t)
	return q.l, q.mu.Unlock
}

// snapshot returns a copy of an incident as of now. The parameter g holds the facts that determine the recommended
// grace period.
func (l *Ledger) snapshot(r *Record, g advice.GracePeriod) incident.Incident {
	x := l.outline(r)
	r.Describe(&x, g, l.now)
	return x
}

// outline returns a copy of an incident as of now, without the fields that Overview omits.
func (l *Ledger) outline(r *Record) incident.Incident {
	x := r.Outline(l.decide(r), l.now)
	x.ID, x.Also, x.State = r.id, slices.Clone(r.also), r.state(l.now)
	x.Start, x.LastFailure = r.Start.UTC(), incident.Later(r.Start, r.LastFailed).UTC()
	x.RecordingEnded = l.recordingEnded
	if r.withdrawn {
		x.State, x.VerdictText, x.Withdrawn = incident.StateWithdrawn, "nothing is wrong", watchLagged
	}
	if x.State.IsOpen() {
		x.SetEnd(time.Time{}, l.now)
	} else {
		x.SetEnd(cmp.Or(r.recovered(), l.now), l.now)
	}
	return x
}

func sorted(all []incident.Incident) []incident.Incident {
	slices.SortFunc(all, func(a, b incident.Incident) int { return incident.Compare(&a, &b) })
	return all
}

// Incidents returns copies of the reported incidents as of t. Ongoing incidents come first, then pending ones, then
// all others. Within each group, the newest come first.
func (q *Reader) Incidents(t time.Time) []incident.Incident {
	l, unlock := q.at(t)
	defer unlock()
	g := l.graceFacts()
	all := make([]incident.Incident, 0, len(l.shown))
	for _, r := range l.shown {
		all = append(all, l.snapshot(r, g))
	}
	return sorted(all)
}

// Incident returns a copy of the reported incident that has or had the given ID as of t. The result ok reports whether
// the incident exists.
func (q *Reader) Incident(t time.Time, id string) (x incident.Incident, ok bool) {
	l, unlock := q.at(t)
	defer unlock()
	i := slices.IndexFunc(l.shown, func(r *Record) bool { return r.answersTo(id) })
	if i < 0 {
		return x, false
	}
	return l.snapshot(l.shown[i], l.graceFacts()), true
}

// Overview is like Incidents, but omits the most expensive fields: Evidence, Timeline, Numbers, Summary and Remedy.
func (q *Reader) Overview(t time.Time) (all []incident.Incident) {
	l, unlock := q.at(t)
	defer unlock()
	for _, r := range l.shown {
		all = append(all, l.outline(r))
	}
	return sorted(all)
}

// Standings is what the metrics show of incidents.
type Standings struct {
	// Incidents holds the ongoing and the recently resolved incidents. OfNodes and OfServices hold the distinct
	// verdicts on their nodes and Services, sorted by name and verdict.
	Incidents  []Standing
	OfNodes    []Affected
	OfServices []Affected
	// Nodes counts the nodes that were silent for longer than the grace period, or turned Unknown, in incidents whose nodes
	// have not recovered, or just recovered.
	Nodes map[incident.Resolution]int
	// Resolved counts the incidents that have ended for good, by scope and final verdict.
	Resolved map[incident.Resolution]uint64
	// Silences holds the starts of silences, by node and class.
	Silences []silence.Start
	// GracePeriod holds the facts that determine the recommended grace period.
	GracePeriod advice.GracePeriod
}

// Standing is what the metrics show of an incident. The fields are those of incident.Incident.
type Standing struct {
	incident.Resolution
	ID, Namespace, Subject string
	Start                  time.Time
	State                  incident.State
}

// Affected is the verdict of an incident that affects a Service, or a node, which has no namespace.
type Affected struct {
	transition.Service
	Verdict verdict.Verdict
}

// Standings returns what the metrics show as of t. It reuses the memory of an earlier result.
func (q *Reader) Standings(t time.Time, s Standings) Standings {
	l, unlock := q.at(t)
	defer unlock()
	s = Standings{
		Incidents: s.Incidents[:0], OfNodes: s.OfNodes[:0], OfServices: s.OfServices[:0],
		Nodes: map[incident.Resolution]int{}, Resolved: maps.Clone(l.resolved), GracePeriod: l.graceFacts(),
	}
	type lostNode struct {
		of   incident.Resolution
		name string
	}
	counted := map[lostNode]bool{}
	for _, r := range l.shown {
		if r.withdrawn || r.state(l.now) == incident.StateResolved && l.now.Sub(r.touched) > standsFor {
			continue
		}
		of := incident.Resolution{Scope: r.Scope(), Verdict: r.verdict(l)}
		s.Incidents = append(s.Incidents, Standing{of, r.id, r.Namespace, r.Name, r.Start, r.state(l.now)})
		nodes, services := r.Touched()
		for _, node := range nodes {
			if of.Scope.HasNodes() {
				s.OfNodes = append(s.OfNodes, Affected{transition.Service{Name: node}, of.Verdict})
			}
		}
		for _, service := range services {
			s.OfServices = append(s.OfServices, Affected{service, of.Verdict})
		}
		names, more := r.LostNodes()
		if len(names) == 0 || !r.Open.HasNode() && l.now.Sub(r.NodeRecovered) > nodesStandFor {
			continue
		}
		for _, name := range names {
			if x := (lostNode{of, name}); !counted[x] {
				counted[x] = true
				s.Nodes[of]++
			}
		}
		s.Nodes[of] += more
	}
	s.Silences = l.Silences.Starts(l.now) // graceFacts has asked for the current verdicts
	s.OfNodes, s.OfServices = distinct(s.OfNodes), distinct(s.OfServices)
	return s
}

func distinct(all []Affected) []Affected {
	slices.SortFunc(all, func(a, b Affected) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), cmp.Compare(a.Verdict, b.Verdict))
	})
	return slices.Compact(all)
}

// Displaced counts the incidents that were dropped to make room for newer ones, as of t.
func (q *Reader) Displaced(t time.Time) incident.Displaced {
	l, unlock := q.at(t)
	defer unlock()
	return l.displaced
}

// GracePeriod returns the facts that determine the recommended node monitor grace period as of t.
func (q *Reader) GracePeriod(t time.Time) advice.GracePeriod {
	l, unlock := q.at(t)
	defer unlock()
	return l.graceFacts()
}

// Silences returns the counts of silences as of t, by node, verdict and reason.
func (q *Reader) Silences(t time.Time) []silence.Sum {
	l, unlock := q.at(t)
	defer unlock()
	l.graceFacts()
	return l.Silences.Sums(l.now)
}
