package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// stage is a link of the chain of evidence.
type stage uint8

const (
	stageLast stage = iota + 1
	stageLate
	stageMissed
	stageUnknown
	stageNotReady
	stageUnseen
	stageUpdated
	stageSilent
	stageStale
	stagePods
	stageConflict
	stageReset
	stageLost
	stageOutage
	stageHeartbeat
	stageBack
	stageGone
	stageLeftOut
	stageOutageOver
	stageReady
	stageRewritten
	stageDefused
	stageNodeRemoved
	stageServiceRemoved
	stageBlind
	stageSees
)

// fact is one thing that was seen, maybe several times.
type fact struct {
	at, until event.Moment
	stage     stage
	service   serviceKey
	// first names what it was seen of first, count is of how many; names are those,
	// to count a node that flaps once.
	first string
	count int
	names map[string]struct{}
	// number and longest are what the sentence needs.
	number  int
	longest time.Duration
}

const (
	// alike is within what time facts of a kind become one, lookBack among how many.
	alike    = event.Moment(15 * time.Second)
	lookBack = 8
)

// add adds a fact to the chain, or to one that is like it: thirty pods of a node
// are one link, not thirty.
func (r *record) add(f fact) {
	f.count = max(f.count, 1)
	if f.until == 0 {
		f.until = f.at
	}
	for _, x := range r.evidence.newest(lookBack) {
		if f.service != (serviceKey{}) && x.service == f.service && x.stage == opposites[f.stage] {
			break
		}
		if x.stage != f.stage || x.service != f.service || f.at > x.until+alike || x.at > f.until+alike {
			continue
		}
		if f.at < x.at {
			x.at, x.first = f.at, f.first
		}
		x.until = max(x.until, f.until)
		x.countIn(f)
		x.number = max(x.number, f.number)
		x.longest = max(x.longest, f.longest)
		return
	}
	r.evidence.add(&f)
}

// opposites: what is lost after it came back is a round of its own.
var opposites = [...]stage{
	stageLost: stageBack, stageBack: stageLost, stageOutage: stageOutageOver, stageOutageOver: stageOutage,
	stageReset: stageRewritten, stageRewritten: stageReset, stageSees: 0,
}

// maxNames bounds the names of one fact; over that each counts as another one.
const maxNames = 200

func (f *fact) countIn(more fact) {
	if f.service != (serviceKey{}) || len(f.names) >= maxNames {
		f.count += more.count
		return
	}
	if f.names == nil {
		f.names = map[string]struct{}{f.first: {}}
	}
	f.names[more.first] = struct{}{}
	for name := range more.names {
		f.names[name] = struct{}{}
	}
	f.count = len(f.names)
}

func (l *Log) chain(r *record) []Evidence {
	facts := r.evidence.all()
	slices.SortStableFunc(facts, func(a, b *fact) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.stage, b.stage))
	})
	all := make([]Evidence, 0, len(facts))
	for _, f := range facts {
		all = append(all, Evidence{l.time(f.at), l.time(f.until), f.count, f.sentence()})
	}
	return all
}

// sentence says what was seen.
func (f *fact) sentence() string {
	if f.service != (serviceKey{}) {
		return f.ofService()
	}
	if f.stage >= stageUpdated && f.stage <= stagePods {
		return f.ofPods()
	}
	d := phrase.Duration(f.longest)
	switch f.stage {
	case stageBlind:
		return "kubeflap's own watch of " + f.first + " broke: what happened then was not seen"
	case stageSees:
		return "kubeflap's watch of " + f.first + " works again after " + d
	case stageLast:
		return f.nodes() + ": last heartbeat"
	case stageLate:
		return fmt.Sprintf("%s: no heartbeat for %s, half of the grace period", f.nodes(), d)
	case stageMissed:
		return fmt.Sprintf("%s: no heartbeat for %s, the whole grace period", f.nodes(), d)
	case stageUnknown:
		s := f.nodes() + ": the node controller turned Ready from True to Unknown"
		if f.longest > 0 {
			s += ", last heartbeat " + d + " before"
		}
		return s
	case stageNotReady:
		return f.nodes() + ": the kubelet itself reports Ready=False"
	case stageUnseen:
		return f.nodes() + ": Ready turned Unknown and back while the watch was broken"
	case stageHeartbeat:
		return fmt.Sprintf("%s: heartbeat again, after %s", f.nodes(), d)
	case stageReady:
		return fmt.Sprintf("%s: Ready again after %s", f.nodes(), d)
	case stageNodeRemoved:
		return f.nodes() + ": the Node was deleted"
	}
	return ""
}

func (f *fact) nodes() string {
	if f.count == 1 {
		return f.first
	}
	return fmt.Sprintf("%d nodes (%s first)", f.count, f.first)
}

func (f *fact) ofPods() string {
	pods := "pod " + f.first
	if f.count > 1 {
		pods = fmt.Sprintf("%d pods (%s first)", f.count, f.first)
	}
	switch f.stage {
	case stageUpdated:
		return pods + ": image changed in place, Ready still True"
	case stageSilent:
		return pods + ": a container restarted and Ready stayed True"
	case stageStale:
		return fmt.Sprintf("%s: Ready had stayed True for up to %s after the container was to be replaced, or had ended", pods, phrase.Duration(f.longest))
	}
	return pods + ": Ready turned from True to False"
}

func (f *fact) ofService() string {
	s := f.service.String()
	d := phrase.Duration(f.longest)
	first := ""
	if f.first != "" {
		first = " (" + f.first + ")"
		if f.count > 1 {
			first = " (" + f.first + " first)"
		}
	}
	switch f.stage {
	case stageConflict:
		return fmt.Sprintf("%s has a selector and %s by hand", s, phrase.Count(f.number, "address written", "addresses written"))
	case stageReset:
		return fmt.Sprintf("%s: all %s were wiped%s", s, phrase.Count(f.number, "hand-written address", "hand-written addresses"), phrase.Times(f.count))
	case stageLost:
		return fmt.Sprintf("%s lost %s%s", s, phrase.Count(f.count, "ready address", "ready addresses"), first)
	case stageOutage:
		return s + " has no ready address left" + phrase.Times(f.count)
	case stageBack:
		return fmt.Sprintf("%s: %s back in rotation", s, phrase.Count(f.count, "address is", "addresses are"))
	case stageGone:
		return fmt.Sprintf("%s: %s that was not ready left it%s", s, phrase.Count(f.count, "address", "addresses"), first)
	case stageLeftOut:
		return fmt.Sprintf("%s: %s left out of its truncated Endpoints%s", s, phrase.Count(f.count, "address that was not ready is", "addresses that were not ready are"), first)
	case stageOutageOver:
		return s + " has a ready address again, after " + d + " without any" + phrase.Times(f.count)
	case stageRewritten:
		return fmt.Sprintf("%s: %s again", s, phrase.Count(f.number, "hand-written address is there", "hand-written addresses are there"))
	case stageDefused:
		return s + ": selector and hand-written addresses are in conflict no more"
	case stageServiceRemoved:
		return s + " was deleted"
	}
	return ""
}
