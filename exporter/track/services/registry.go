package services

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
)

type key struct{ namespace, name string }

// owned identifies a Service. The uid is zero for the current Service with this name. Otherwise, kubeflap knows the
// Service only as the owner of a slice: it has not been seen yet, or has been replaced by another Service with the same
// name.
type owned struct {
	key
	uid event.UID
}

// registry holds the Services, and the slices and Endpoints that contain their addresses.
type registry struct {
	all     map[owned]*service
	sources map[losses.SourceID]*source
	// `sorted` holds the current Services, sorted by namespace and name. It is nil after a Service has been added or
	// removed.
	sorted []*service
	// restored holds the outages that were ongoing before the first lists, until Services and their addresses are listed.
	restored map[event.UID]time.Time
}

// getOrAdd returns the Service of a slice or an Endpoints object, and adds the Service if necessary. It finds the
// Service by the owner's UID if the object has an owner. A deleted Service and its successor with the same name can
// both have slices for a while.
func (r *registry) getOrAdd(k key, owner event.UID) *service {
	if s := r.all[owned{key: k}]; s != nil && s.uid == owner {
		return s
	}
	o := owned{k, owner}
	if r.all[o] == nil {
		r.set(o, newService(k, owner))
	}
	return r.all[o]
}

func (r *registry) set(o owned, s *service) { r.all[o], r.sorted = s, nil }

// adopt returns the Service with the given UID, and makes this Service the current one with the name k.
func (r *registry) adopt(k key, uid event.UID) *service {
	s := r.all[owned{k, uid}]
	if s == nil {
		s = newService(k, uid)
	}
	delete(r.all, owned{k, uid})
	r.set(owned{key: k}, s)
	return s
}

// forgetIfGone drops a Service that does not exist and has no slices or Endpoints.
func (r *registry) forgetIfGone(s *service) {
	if s.exists || len(s.record.Sources) > 0 {
		return
	}
	for _, o := range []owned{{key: s.key}, {s.key, s.uid}} {
		if r.all[o] == s {
			delete(r.all, o)
			r.sorted = nil
		}
	}
}

func (r *registry) inOrder() []*service {
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.all), func(a, b *service) int {
			return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
		})
		r.sorted = slices.DeleteFunc(r.sorted, func(s *service) bool { return r.all[owned{key: s.key}] != s })
	}
	return r.sorted
}

// Outages returns the start of each ongoing outage that began by t, by the UID of the Service.
func (r *registry) Outages(t time.Time) map[event.UID]time.Time {
	all := map[event.UID]time.Time{}
	for _, s := range r.all {
		if o := s.record.Outage; s.exists && o != nil && !o.Since.After(t) {
			all[s.uid] = o.Since
		}
	}
	return all
}

// RestoreOutages makes the given outages go on for those Services that have no ready address in the first lists.
func (r *registry) RestoreOutages(all map[event.UID]time.Time) { r.restored = all }

// ContinueOutages reports the restored outages that go on. It does nothing until Services and their addresses are listed.
func (x *Services) ContinueOutages(t time.Time) {
	if x.restored == nil || !x.watches.IsSynced(event.KindService) || !x.watches.IsSynced(x.readFrom) {
		return
	}
	for _, s := range x.inOrder() {
		if since := x.restored[s.uid]; !since.IsZero() && s.exists && s.addresses.count[ready] == 0 {
			x.losses.ContinueOutage(s, since, t)
		}
	}
	x.restored = nil
}
