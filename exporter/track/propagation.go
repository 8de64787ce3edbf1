package track

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// propagationLimit is after how long an address's change is not put down to its pod's any more.
	propagationLimit = time.Minute
	// sideBySide is how much later than an address's change its pod's may be seen, though it came first: each has a
	// watch of its own, and a connection is read at most once in a while (exporter/watch, together).
	sideBySide = 50 * time.Millisecond
)

// ahead is an address's change that was seen before its pod's, and what is to be told if that is still seen.
type ahead struct {
	service *service
	Finding
}

// observePropagation measures from a pod's change of Ready to that of its address.
func (f *Tracker) observePropagation(s shift, a *address, from, to state) {
	p := f.pods[a.uid]
	// What a broken watch delivers late took no time that could be measured.
	if p == nil || (from == stateReady) == (to == stateReady) || !f.watches[f.source].live(s.at) {
		return
	}
	x := f.addressFinding(s, a, AddressFollowedPod)
	x.To = readiness(to)
	if (p.ready == event.StatusTrue) != (to == stateReady) {
		f.noteAhead(s, x)
		return
	}
	turned := f.time(p.turned)
	if turned.After(s.created) && turned.After(s.changed) && s.at.Sub(turned) <= propagationLimit && f.watches[event.KindPod].live(turned) {
		x.Duration = s.at.Sub(turned)
		f.reportOf(s.service, x)
	}
}

// noteAhead keeps an address's change that its pod has not made. It is no pod's if the Service is to blame, or
// publishes its addresses whatever their pods do.
func (f *Tracker) noteAhead(s shift, x Finding) {
	f.forgetAhead(s.at)
	if s.at.After(s.created) && s.at.After(s.changed) && !s.publish {
		f.aheads = append(f.aheads, ahead{s.service, x})
	}
}

// catchUpWith tells of the addresses that were seen to follow their pod before it was seen to turn. They took no
// time that could be seen.
func (f *Tracker) catchUpWith(id event.UID, ready event.Status, t time.Time) {
	f.forgetAhead(t)
	if !f.watches[event.KindPod].live(t) {
		return
	}
	f.aheads = slices.DeleteFunc(f.aheads, func(a ahead) bool {
		followed := a.Address == id && (a.To == readiness(stateReady)) == (ready == event.StatusTrue)
		if followed {
			a.Time = t
			f.reportOf(a.service, a.Finding)
		}
		return followed
	})
}

// forgetAhead forgets what no pod's change is seen for any more.
func (f *Tracker) forgetAhead(t time.Time) {
	f.aheads = slices.DeleteFunc(f.aheads, func(a ahead) bool { return t.Sub(a.Time) > sideBySide })
}
