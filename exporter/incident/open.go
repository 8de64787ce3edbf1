package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Open identifies something that has not recovered, by the row of the timeline that shows it.
type Open struct {
	Track Track
	// Service is the affected Service. Of nodes, it holds only the name.
	Service transition.Service
	// Address is only set for addresses, and Object for an object that somebody has written.
	Address event.UID
	Object  string
}

// Silent identifies a node that sends no heartbeats.
func Silent(node string) Open {
	return Open{Track: TrackHeartbeat, Service: transition.Service{Name: node}}
}

// NotReady identifies a node that is not Ready.
func NotReady(node string) Open {
	return Open{Track: TrackNode, Service: transition.Service{Name: node}}
}

// OpenAddress identifies an address that its Service lists as not ready.
func OpenAddress(x transition.Address) Open {
	return Open{Track: TrackAddress, Service: x.Service, Address: x.ID}
}

// OpenOutage identifies a Service without a ready address.
func OpenOutage(x transition.Service) Open { return Open{Track: TrackOutage, Service: x} }

// OpenConflict identifies a Service with a selector and manually managed addresses, or whose addresses were removed. It
// does not make an incident ongoing.
func OpenConflict(x transition.Service) Open { return Open{Track: TrackConflict, Service: x} }

// OpenRemoval identifies a Service whose manually managed addresses are missing because of a conflict.
func OpenRemoval(x transition.Service) Open { return Open{Track: TrackAddress, Service: x} }

// OpenForeign identifies an EndpointSlice or Endpoints that contain foreign addresses although the Service has a selector,
// or Endpoints from which somebody withdrew pod addresses.
func OpenForeign(x transition.Service, object string, withdrawn bool) Open {
	track := TrackForeign
	if withdrawn {
		track = TrackAddress
	}
	return Open{Track: track, Service: x, Object: object}
}

// OpenSet maps everything that has not recovered to its interval on the timeline.
type OpenSet map[Open]*Span

// Has reports whether anything on a track has not recovered.
func (o OpenSet) Has(track Track) bool {
	for x := range o {
		if x.Track == track {
			return true
		}
	}
	return false
}

// HasNode reports whether a node has not recovered.
func (o OpenSet) HasNode() bool { return o.Has(TrackHeartbeat) || o.Has(TrackNode) }

// Oldest returns since when something on a track has not been well. It returns zero if all has recovered.
func (o OpenSet) Oldest(track Track) (first time.Time) {
	for x, s := range o {
		if x.Track == track && (first.IsZero() || s.Start.Before(first)) {
			first = s.Start
		}
	}
	return first
}

// Progress holds what has happened so far, and what has not recovered.
type Progress struct {
	Timeline Timeline
	Open     OpenSet
	// NodeRecovered is when a node last recovered.
	NodeRecovered time.Time
	// LastFailed is when something last failed. A node fails when its silence becomes too long.
	LastFailed time.Time
}

// Failed records that something failed at t.
func (f *Progress) Failed(t time.Time) { f.LastFailed = Later(f.LastFailed, t) }

// Fails records that something has not been well since t.
func (f *Progress) Fails(x Open, t time.Time) {
	f.Recovers(x, t)
	f.Failed(t)
	name := x.Service.Name
	if x.Service.Namespace != "" {
		name = x.Service.Namespace + "/" + name
	}
	f.Open[x] = f.Timeline.Begin(x.Track, name, t)
}

// Recovers records that something has recovered at t.
func (f *Progress) Recovers(x Open, t time.Time) {
	if f.Open[x] != nil && (x.Track == TrackHeartbeat || x.Track == TrackNode) {
		f.NodeRecovered = t
	}
	f.Open[x].Close(t)
	delete(f.Open, x)
}

// RecoverAll records that nobody waits for anything any more.
func (f *Progress) RecoverAll(t time.Time) {
	for x := range f.Open {
		f.Recovers(x, t)
	}
}

// LacksAddresses reports whether addresses that the endpoints controller removed are still missing. It returns false
// after the selector conflict has ended.
func (f *Facts) LacksAddresses() bool {
	_, lacks := f.Open[OpenRemoval(transition.Service{Namespace: f.Namespace, Name: f.Name})]
	return lacks
}

// Pending reports whether there is a selector conflict.
func (f *Progress) Pending() bool { return f.Open.Has(TrackConflict) }

// Ongoing reports whether something has not recovered. A selector conflict alone does not count.
func (f *Progress) Ongoing() bool { return len(f.Open) > 1 || len(f.Open) == 1 && !f.Pending() }
