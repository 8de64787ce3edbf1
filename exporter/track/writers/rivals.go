package writers

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// contestedWithin is how soon a writer must undo another's change for the two to compete.
const contestedWithin = 10 * time.Minute

// write is what an event shows of an object's addresses.
type write struct {
	writer, kind, name string
	addresses          []event.Address
}

// written is a state of an object's addresses, and who wrote it.
type written struct {
	writer    string
	addresses uint64
	at        time.Time
}

// rivals are the last two states of an object's addresses, by different writers.
type rivals struct {
	before, last written
	// undone counts how often, in a row, a writer has restored what the other had changed.
	undone int
}

// compete finds two writers that undo each other's changes of a Service without a selector. One writer there is legitimate, and so is a second
// one that corrects the first: only if each has undone the other's change, they compete.
func (x *Writers) compete(s Service, h *Source, e event.Event, w write) {
	name := rivalOf(w.writer)
	if name == "" || h.Mirrored || h.Controlled || s.HasSelector() || !s.Exists() {
		return
	}
	is := written{name, hashOf(w.addresses), e.Seen}
	if h.rivals == nil {
		h.rivals = &rivals{last: is}
		return
	}
	r := h.rivals
	switch {
	case is.addresses == r.last.addresses:
		return
	case name == r.last.writer:
		r.last, r.before, r.undone = is, written{}, 0
		return
	case name == r.before.writer && is.addresses == r.before.addresses && e.Seen.Sub(r.before.at) <= contestedWithin:
		r.undone++
	default:
		r.undone = 0
	}
	r.before, r.last = r.last, is
	if r.undone >= 2 {
		x.losses.Report(s, transition.AddressesContested{
			At: at(e.Seen), Service: s.Named(), Object: w.kind + " " + w.name, Writers: [2]string{min(name, r.before.writer), max(name, r.before.writer)},
			Trigger: transition.Trigger(s.UID(), e.Object.Metadata().Version),
		})
	}
}

// rivalOf is a writer by its field manager. All subcommands of kubectl are one: the same person uses several.
func rivalOf(manager string) string {
	if strings.HasPrefix(manager, "kubectl") {
		return "kubectl"
	}
	return manager
}

// hashOf is a hash of addresses and their readiness, independent of their order.
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
