package nodes

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// machine identifies a Node's machine. The zero value is an unknown machine.
type machine struct {
	// boot and provider are hashes of bootID and providerID, or 0 if the Node never reported them.
	boot, provider uint64
	// `since` is the time at which kubeflap first saw the Node. `again` is set for a recreated Node until its machine
	// has been compared with the machine of the deleted Node.
	since time.Time
	again bool
	// byName is set if the providerID ends with the Node's name, as on GCE. Another machine with that name then has the
	// same providerID.
	byName bool
}

// note records the machine of a Node. It reports whether the bootID changed, which means that the machine was rebooted.
func (i *machine) note(o *event.Node) (rebooted bool) {
	if o.ProviderID != "" {
		i.provider, i.byName = event.Hash(o.ProviderID), strings.HasSuffix(o.ProviderID, "/"+o.Name)
	}
	return updateHash(&i.boot, o.BootID)
}

// updateHash stores the hash of a value, and reports whether the value differs from the previous one.
func updateHash(hash *uint64, reported string) bool {
	if reported == "" {
		return false
	}
	was := *hash
	*hash = event.Hash(reported)
	return was != 0 && was != *hash
}

const (
	// keptFor is the time for which a deleted Node's machine is kept. maxKept is the maximum number of these machines.
	keptFor = time.Hour
	maxKept = 1000
	// departedFor is the time after a Node's deletion for which the announcement of its departure explains the losses of its
	// pods. The pod garbage collector deletes the pods of a deleted Node after about a minute (gcCheckPeriod and
	// quarantineTime in pkg/controller/podgc).
	departedFor = 10 * time.Minute
	// `initialised` is the longest time that the cloud controller manager needs to set the providerID of a new Node.
	initialised = 5 * time.Minute
)

// former holds the machines and the announcements of the Nodes that were deleted in the last hour, oldest first.
type former []formerNode

type formerNode struct {
	name      string
	is        machine
	departure departure.Departure
	deleted   time.Time
}

// add records a Node's deletion.
func (f *former) add(name string, is machine, d departure.Departure, t time.Time) {
	all := append(*f, formerNode{name, is, d, t})
	recent := slices.IndexFunc(all, func(x formerNode) bool { return t.Sub(x.deleted) <= keptFor })
	*f = slices.Delete(all, 0, max(recent, len(all)-maxKept))
}

func (f former) newest(name string) int {
	for i, x := range slices.Backward(f) {
		if x.name == name {
			return i
		}
	}
	return -1
}

// compare compares a Node's machine with the machine of the deleted Node of the same name. The comparison may have to
// wait for fields that the new Node lacks at first. ok is true if this call made the comparison.
func (f *former) compare(name string, is *machine, t time.Time) (m transition.Machine, ok bool) {
	i := -1
	switch {
	case is.since.IsZero():
		i = f.newest(name)
		is.since, is.again = t, i >= 0 && t.Sub((*f)[i].deleted) <= keptFor
	case is.again:
		i = f.newest(name)
	}
	if is.again = is.again && i >= 0; !is.again {
		return 0, false
	}
	if m, ok = compareMachines((*f)[i].is, *is, t.Sub(is.since) > initialised); ok {
		*f, is.again = slices.Delete(*f, i, i+1), false
	}
	return m, ok
}

func compareMachines(was, is machine, complete bool) (m transition.Machine, ok bool) {
	switch {
	case was.provider != 0 && is.provider != 0 && was.provider != is.provider:
		return transition.MachineReplaced, true
	case was.boot == 0 || is.boot == 0:
		return 0, false
	case was.boot == is.boot:
		return transition.MachineSame, true
	case was.provider != 0 && is.provider == 0 && !complete:
		return 0, false
	case was.provider != 0 && is.provider != 0 && !is.byName:
		return transition.MachineRebooted, true
	}
	return transition.MachineUnclear, true
}
