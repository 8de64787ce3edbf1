// Package machine determines whether a recreated Node with the same name is the same machine.
package machine

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Identity identifies a Node's machine. The zero value is an unknown machine.
type Identity struct {
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

// Note records a Node's identity. It reports whether the bootID changed, which means that the machine was rebooted.
func (i *Identity) Note(o *event.Node) (rebooted bool) {
	if o.ProviderID != "" {
		i.provider, i.byName = event.Hash(o.ProviderID), strings.HasSuffix(o.ProviderID, "/"+o.Name)
	}
	if o.BootID == "" {
		return false
	}
	was := i.boot
	i.boot = event.Hash(o.BootID)
	return was != 0 && was != i.boot
}

const (
	// `remembered` is the time for which Former keeps a deleted Node. maxRemembered is the maximum number of Nodes that
	// it keeps.
	remembered    = time.Hour
	maxRemembered = 1000
	// `initialised` is the longest time that the cloud controller manager needs to set the providerID of a new Node.
	initialised = 5 * time.Minute
)

// Former holds the machines of the Nodes that were deleted in the last hour.
type Former struct{ nodes []former }

type former struct {
	name    string
	is      Identity
	deleted time.Time
}

// NodeDeleted records a Node's deletion.
func (f *Former) NodeDeleted(name string, is Identity, t time.Time) {
	f.nodes = append(f.nodes, former{name, is, t})
	recent := slices.IndexFunc(f.nodes, func(x former) bool { return t.Sub(x.deleted) <= remembered })
	f.nodes = slices.Delete(f.nodes, 0, max(recent, len(f.nodes)-maxRemembered))
}

func (f *Former) newest(name string) int {
	for i, x := range slices.Backward(f.nodes) {
		if x.name == name {
			return i
		}
	}
	return -1
}

// Compare compares a Node's machine with the machine of the deleted Node of the same name. The comparison may have to
// wait for fields that the new Node lacks at first. ok is true if this call made the comparison.
func (f *Former) Compare(name string, is *Identity, t time.Time) (m transition.Machine, ok bool) {
	i := -1
	switch {
	case is.since.IsZero():
		i = f.newest(name)
		is.since, is.again = t, i >= 0 && t.Sub(f.nodes[i].deleted) <= remembered
	case is.again:
		i = f.newest(name)
	}
	if is.again = is.again && i >= 0; !is.again {
		return 0, false
	}
	if m, ok = compare(f.nodes[i].is, *is, t.Sub(is.since) > initialised); ok {
		f.nodes, is.again = slices.Delete(f.nodes, i, i+1), false
	}
	return m, ok
}

func compare(was, is Identity, complete bool) (m transition.Machine, ok bool) {
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
