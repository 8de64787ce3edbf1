package services

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// keepOver is the time for which OutageStarts includes an outage that has ended.
const keepOver = time.Hour

// OutageStart is the start of an outage. It is zero if the outage has ended, or if its class has changed.
type OutageStart struct {
	transition.Service
	Class cause.Class
	Start time.Time
}

// over holds the times at which the last outage of each class ended, by Service, of deleted Services.
type over map[transition.Service][cause.NumClasses]event.Moment

// OutageStarts appends the ongoing outages and the outages that ended in the last hour to the given slice, and returns
// the extended slice. It returns no outages if the watches of Services or their addresses are broken.
func (x *Services) OutageStarts(into []OutageStart) []OutageStart {
	if x.losses.IsBlind() {
		return into
	}
	for _, s := range x.inOrder() {
		if s.Current {
			into = appendStarts(into, x.watches, s.Name, s.Over, s.Outage)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(x.over), func(a, b transition.Service) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}) {
		into = appendStarts(into, x.watches, name, x.over[name], nil)
	}
	return into
}

func appendStarts(into []OutageStart, w *watches.Watches, name transition.Service, ended [cause.NumClasses]event.Moment, ongoing *classes.Outage) []OutageStart {
	for class, at := range ended {
		if ongoing != nil && ongoing.Class == cause.Class(class) {
			into = append(into, OutageStart{name, ongoing.Class, ongoing.Since})
		} else if at != 0 && w.Now().Sub(w.Time(at)) <= keepOver {
			into = append(into, OutageStart{Service: name, Class: cause.Class(class)})
		}
	}
	return into
}

// keep keeps the outages of a Service that was deleted at t.
func (all over) keep(s *service, t time.Time, w *watches.Watches) {
	maps.DeleteFunc(all, func(_ transition.Service, ended [cause.NumClasses]event.Moment) bool {
		return t.Sub(w.Time(slices.Max(ended[:]))) > keepOver
	})
	if s.Over != ([cause.NumClasses]event.Moment{}) {
		all[s.Name] = s.Over
	}
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
		if o := s.Outage; s.Current && o != nil && !o.Since.After(t) {
			all[s.UID] = Outage{Since: o.Since, Class: o.Class.String(), Found: o.Found}
		}
	}
	for _, a := range x.asks {
		if o, ok := all[a.service.UID]; ok && a.service.Outage == a.outage {
			o.Wait = a.last
			all[a.service.UID] = o
		}
	}
	return all
}

// RestoreOutages makes the given outages go on for those Services that have no ready address in the first lists.
func (x *Services) RestoreOutages(all map[event.UID]Outage) { x.restored = all }

// FindOutages begins the outages of the Services that have no ready address in the first lists. It does nothing until
// Services and their addresses are listed.
func (x *Services) FindOutages(t time.Time) {
	if x.listed || !x.watches.IsSynced(event.KindService) || !x.watches.IsSynced(x.losses.ReadFrom) {
		return
	}
	x.listed = true
	for _, s := range x.inOrder() {
		if !s.Current || s.Count[losses.Ready] > 0 || s.Outage != nil || !s.needsAddresses() {
			continue
		}
		if o, ok := x.restored[s.UID]; ok {
			x.losses.ContinueOutage(&s.Service, o.Since, cause.ParseClass(o.Class), o.Found, t)
			x.follow(s, nil, o.Wait)
		} else {
			losses.FindOutage(x.losses, &s.Service)
		}
	}
	x.restored = nil
}
