package services

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// contestedWithin is the maximum age of an earlier state that a rival writer restores.
const contestedWithin = 10 * time.Minute

// past is an earlier state of an object's addresses. It holds the writer, a hash of the addresses, and the time of the
// write.
type past struct {
	writer    string
	addresses uint64
	at        time.Time
}

// rivals holds the last two states of an object's addresses. The field before is empty if the same writer wrote both
// states.
type rivals struct {
	before, last past
	// `undone` counts the consecutive writes in which a writer restored its own earlier state.
	undone int
}

// compete detects two writers that undo each other's changes to a Service without a selector. A single undone change
// can be a correction. So compete reports a contest only after each writer has undone a change of the other writer.
func (q *facts) compete(s *service, h *source, e event.Event, w written) {
	name := rivalOf(w.writer)
	if name == "" || h.mirrored || h.controlled || s.hasSelector() || !s.current {
		return
	}
	is := past{name, hashOf(w.addresses), e.Seen}
	if h.rivals == nil {
		h.rivals = &rivals{last: is}
		return
	}
	r := h.rivals
	switch {
	case is.addresses == r.last.addresses:
		return
	case name == r.last.writer:
		r.last, r.before, r.undone = is, past{}, 0
		return
	case name == r.before.writer && is.addresses == r.before.addresses && e.Seen.Sub(r.before.at) <= contestedWithin:
		r.undone++
	default:
		r.undone = 0
	}
	r.before, r.last = r.last, is
	if r.undone >= 2 {
		q.report(s, transition.AddressesContested{
			At: at(e.Seen), Service: s.name, Object: w.kind + " " + w.Name, Writers: [2]string{min(name, r.before.writer), max(name, r.before.writer)},
			Trigger: transition.Trigger(s.uid, w.ResourceVersion),
		})
	}
}

// rivalOf returns the writer's name for comparisons. All kubectl subcommands count as one writer, because one person
// uses several of them.
func rivalOf(manager string) string {
	if strings.HasPrefix(manager, "kubectl") {
		return "kubectl"
	}
	return manager
}

// hashOf returns a hash of addresses and their readiness. The hash does not depend on the order of the addresses.
func hashOf(held []event.Address) uint64 {
	sum := uint64(len(held))
	for i := range held {
		address := event.Hash(string(held[i].UID[:])) << 1
		if held[i].Ready {
			address++
		}
		sum += address
	}
	return sum
}
