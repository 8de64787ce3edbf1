package services

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// waitsAfter is the length of an outage after which kubeflap asks what keeps it going. askEvery is the time between two
	// questions. The times depend only on the outage, so the answers do not depend on queries.
	waitsAfter = time.Minute
	askEvery   = 15 * time.Second
	// keepOver is the time for which OutageStarts includes an outage that has ended.
	keepOver = time.Hour
)

// ask asks at a time, and again and again, what keeps an outage going. It reports what has changed.
func (q *workloads) ask(o *outage, due time.Time) {
	s := o.service
	q.watches.Schedule(due, watches.RankServices, func() {
		if s.deleted || !o.isOngoing() {
			return
		}
		if is, last := q.waitIn(o), o.wait; !is.Same(last) {
			if is.Since.Before(o.since) {
				is.Since = o.since
			}
			switch {
			case last.Kind == is.Kind && last.UID == is.UID:
				is.Since = last.Since // only the reason has changed
			case last.Kind != "" && !is.Since.After(last.Since):
				is.Since = due
			}
			o.wait = is
			q.report(s, transition.OutageWaits{At: at(due), Service: s.name, Wait: is})
		}
		q.ask(o, due.Add(askEvery))
	})
}

// waitIn returns what a Service waits for. It returns the last answer if it does not know.
func (q *workloads) waitIn(o *outage) transition.Wait {
	s := o.service
	_, blind := q.blindSince()
	_, none := q.demand(s.name.Namespace, s.selector)
	switch {
	case len(s.selector) == 0:
		return transition.Wait{}
	case blind:
		return o.wait
	case none:
		return transition.Wait{Kind: transition.WaitReplicas}
	}
	var ids []event.UID
	for _, a := range s.addresses(q.readFrom) {
		if a.state == notReady {
			ids = append(ids, a.id)
		}
	}
	o.lost = slices.DeleteFunc(o.lost, s.hasLeft)
	return q.pods.WaitOf(s.name.Namespace, s.selector, ids, o.lost, o.wait)
}

// OutageStart is the start of an outage. It is zero if the outage has ended, or if its class has changed.
type OutageStart struct {
	transition.Service
	Class cause.Class
	Start time.Time
}

// over contains the times at which the last outages of each Service and class ended or changed their class. It keeps those of
// deleted Services, too.
type over map[OutageStart]time.Time

// noteOver records that an outage has ended or changes its class. The record is kept for as long as OutageStarts needs it.
func (q *classes) noteOver(o *outage) {
	is, now := OutageStart{Service: o.service.name, Class: o.class}, q.watches.Now()
	q.over[is] = now
	q.watches.Schedule(now.Add(keepOver).Add(1), watches.RankForget, func() {
		if q.over[is].Equal(now) {
			delete(q.over, is)
		}
	})
}

// OutageStarts appends the ongoing outages and the outages that ended in the last hour to the given slice, and returns
// the extended slice. It returns no outages if the watches of Services or their addresses are broken.
func (x *Services) OutageStarts(into []OutageStart) []OutageStart {
	if _, blind := x.blindSince(); blind {
		return into
	}
	for _, s := range x.inOrder() {
		if o := s.outage; o != nil {
			into = append(into, OutageStart{s.name, o.class, o.since})
		}
	}
	for _, is := range slices.SortedFunc(maps.Keys(x.over), compareStarts) {
		if s := x.all[is.Service]; s == nil || s.outage == nil || s.outage.class != is.Class {
			into = append(into, is)
		}
	}
	return into
}

func compareStarts(a, b OutageStart) int {
	return cmp.Or(compareNames(a.Service, b.Service), cmp.Compare(a.Class, b.Class))
}

// Outage is an ongoing outage, as an earlier process knew it.
type Outage struct {
	Since time.Time `json:"since"`
	Class string    `json:"class"`
	// Found is set if the Service had no ready address when the first process started.
	Found bool `json:"found,omitempty"`
	// Wait is what the Service waits for.
	Wait transition.Wait `json:"wait,omitzero"`
}

// Outages returns each ongoing outage that began by t, by the UID of the Service.
func (x *Services) Outages(t time.Time) map[event.UID]Outage {
	all := map[event.UID]Outage{}
	for _, s := range x.all {
		if o := s.outage; o != nil && !o.since.After(t) {
			all[s.uid] = Outage{o.since, o.class.String(), o.found, o.wait}
		}
	}
	return all
}

// RestoreOutages makes the given outages go on for those Services that have no ready address in the first lists.
func (x *Services) RestoreOutages(all map[event.UID]Outage) { x.restored = all }

// findOutages begins the outages of the Services that have no ready address in the first lists. It does nothing until
// Services and their addresses are listed.
func (x *Services) findOutages() {
	if x.listed || !x.watches.IsSynced(event.KindService) || !x.watches.IsSynced(x.readFrom) {
		return
	}
	x.listed = true
	for _, s := range x.inOrder() {
		if s.count[ready] > 0 || s.outage != nil || !s.needsAddresses() {
			continue
		}
		if o, ok := x.restored[s.uid]; ok {
			x.continueOutage(s, o)
		} else {
			x.findOutage(s)
		}
	}
	x.restored = nil
}
