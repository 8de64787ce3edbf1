package incident

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// UnknownToleration is the value of Number for an evicted pod whose tolerationSeconds are unknown.
const UnknownToleration = -1

// EntryKind is the kind of an observation. It consists of the sentence that describes the observation. Entry.value returns
// the values of the variables.
type EntryKind struct {
	rank     int
	sentence string
}

var ranks int

func kind(sentence string) EntryKind {
	ranks++
	return EntryKind{ranks, sentence}
}

// The kinds. Entries with the same time are sorted in this order, so that causes come before effects.
var (
	LastHeartbeat   = kind("$nodes: last heartbeat")
	HeartbeatBefore = kind("$nodes: last heartbeat before kubeflap started (time from the node's own clock)")
	UnknownBefore   = kind("$nodes: the node controller had set Ready to Unknown before kubeflap started (time from the node controller's clock)")
	FoundLost       = kind("$nodes: already lost when kubeflap started")
	NotReadyBefore  = kind("$nodes: the kubelet itself had reported Ready=False before kubeflap started (time from the node's own clock)")
	FoundNotReady   = kind("$nodes: already not Ready when kubeflap started$said")
	ClockSetBack    = kind("$nodes: clock set back by $duration. The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp")
	HeartbeatLate   = kind("$nodes: no heartbeat for $duration (half of the grace period)")
	HeartbeatMissed = kind("$nodes: no heartbeat for $duration (the whole grace period)")
	NodeUnknown     = kind("$nodes: the node controller set Ready to Unknown$age")
	NodeNotReady    = kind("$nodes: the kubelet itself reports Ready=False$said")
	NodeProblem     = kind("$nodes$said")
	NodeNotMarked   = kind("$nodes: no heartbeat for $duration, but the node controller has not set Ready to Unknown")
	NodeWasUnknown  = kind("$nodes: Ready turned Unknown and then True again while the watch was broken")

	PodUpdated = kind("$pods: image changed in place while Ready was still True")
	// PodUpdatedNotReady means the same of a pod that was not Ready.
	PodUpdatedNotReady = kind("$pods: image changed in place while Ready was not True")
	PodRestarted       = kind("$pods: a container restarted and Ready stayed True")
	PodWasStale        = kind("$pods: Ready stayed True for up to $longest after the image changed or the container exited")
	PodNotReady        = kind("$pods: Ready turned from True to False$why")
	PodExited          = kind("$pods: a container exited$why")
	PodRelabelled      = kind("$pods: the selector no longer matches the labels$why")
	PodWasEvicted      = kind("$pods: evicted$why")
	EvictedUnknown     = kind("$pods: evicted $soon after the node turned Unknown$toleration")
	EvictedNotReady    = kind("$pods: evicted $soon after the node reported Ready=False$toleration")

	SelectorConflict     = kind("$service has a selector and ${number|manually managed address|manually managed addresses}")
	EndpointsOverwritten = kind("$service has a selector and empty Endpoints. Somebody had applied addresses, but they were overwritten before kubeflap saw them")
	ForeignAddresses     = kind("$service has a selector, but an unexpected writer added ${number|address|addresses} to $name$times")
	AddressesWithdrawn   = kind("$service: ${number|ready pod address was|ready pod addresses were} removed from $name, but not by a controller$times")
	EndpointsReset       = kind("$service: all manually managed addresses ($number) were removed$times")
	AddressLost          = kind("$service lost ${count|ready address|ready addresses}$first")
	StaleReadd           = kind("$service: clients that applied the ready addresses would have put ${count|address|addresses} back$first before the container was replaced")
	OutageStarted        = kind("$service has no ready address left$times")

	OutageWaited          = kind("$service waited $duration for $name")
	HeartbeatSeen         = kind("$nodes: heartbeats resumed$after")
	HeartbeatsInTime      = kind("$nodes: the heartbeats of the last $duration were on time, but kubeflap's watch delivered them late")
	AddressReturned       = kind("$service: ${count|address is|addresses are} back in rotation")
	AddressRemoved        = kind("$service: ${count|address that was not ready was|addresses that were not ready were} removed$first")
	OutageEnded           = kind("$service has a ready address again$without$times")
	NodeReady             = kind("$nodes: Ready again$after")
	EndpointsRewritten    = kind("$service: ${number|manually managed address is|manually managed addresses are} back")
	SelectorConflictEnded = kind("$service: the selector conflict is resolved")
	ForeignEnded          = kind("$service: no more addresses from an unexpected writer in $name$times")
	WithdrawnReturned     = kind("$service: no pod address is missing any more from $name$times")

	NodeRebooted    = kind("$nodes: the machine was rebooted (it has a new bootID)")
	KubeletUpgraded = kind("$nodes: the kubelet was upgraded (it reports a different version)")
	NodeRemoved     = kind("$nodes: the Node was deleted")
	ServiceRemoved  = kind("$service was deleted")

	APIServerStopped = kind("$servers before an interruption")
	LeaderLate       = kind("$name: last Lease renewal of the leader before an interruption")
	LeaderChanged    = kind("$leader")
	LeasesRead       = kind("$read$times")
	WatchBroke       = kind("kubeflap's own watch of $name broke, so kubeflap missed all changes after that")
	WatchWorks       = kind("kubeflap's watch of $name works again$after")
	Stopped          = kind("kubeflap stopped watching")
	VerdictRevised   = kind("the verdict was revised $name")
)

// sentence returns the entry as a sentence.
func (e *Entry) sentence() string { return os.Expand(e.Kind.sentence, e.value) }

// value returns the value of a variable in a sentence.
func (e *Entry) value(name string) string {
	if what, forms, ok := strings.Cut(name, "|"); ok {
		one, many, _ := strings.Cut(forms, "|")
		if what == "number" {
			return phrase.Count(e.Number, one, many)
		}
		return phrase.Count(e.count, one, many)
	}
	switch name {
	case "nodes":
		return e.several("", "nodes")
	case "pods":
		return e.several("pod ", "pods")
	case "servers":
		if e.count == 1 {
			return e.Name + ": last Lease renewal of this API server"
		}
		return e.several("", "API servers") + ": last Lease renewals"
	case "service":
		return e.Service.Namespace + "/" + e.Service.Name
	case "number":
		return strconv.Itoa(e.Number)
	case "times":
		return phrase.Times(e.count)
	case "duration":
		return e.lasted()
	case "longest":
		return phrase.Duration(e.Duration)
	case "soon":
		return e.soon()
	case "leader":
		return transition.LeaderChanged{To: e.Name}.String()
	case "read":
		return phrase.Sentence(e.Name)
	}
	return e.optional(name)
}

// several names the observed object, or the first of several.
func (e *Entry) several(kind, kinds string) string {
	if e.count == 1 {
		return kind + e.Name
	}
	return fmt.Sprintf("%d %s (%s first)", e.count, kinds, e.Name)
}

// lasted returns the duration, or the longest of several.
func (e *Entry) lasted() string {
	if e.varies {
		return "up to " + phrase.Duration(e.Duration)
	}
	return phrase.Duration(e.Duration)
}

// soon returns how long after a change something followed, in seconds.
func (e *Entry) soon() string {
	d := e.Duration.Round(time.Second)
	switch {
	case d == 0:
		return "right"
	case e.varies:
		return "up to " + phrase.Duration(d)
	}
	return phrase.Duration(d)
}

// optional returns the value of a variable that may be empty.
func (e *Entry) optional(name string) string {
	switch {
	case name == "name":
		return e.Name
	case name == "first" && e.Name != "" && e.count > 1:
		return " (" + e.Name + " first)"
	case name == "first" && e.Name != "":
		return " (" + e.Name + ")"
	case name == "age" && e.Duration > 0:
		return ", " + e.lasted() + " after the last heartbeat"
	case name == "after" && e.Duration != 0:
		return " after " + e.lasted()
	case name == "without" && max(e.Duration, e.AtMost) > 0:
		return ", after " + phrase.Range(e.Duration, e.AtMost) + " without any"
	case name == "said" && e.Said != nil:
		return ": " + e.Said.String()
	case name == "why" && e.Why != "":
		return " (" + phrase.Line(e.Why) + ")"
	case name == "toleration" && e.Number != UnknownToleration:
		return fmt.Sprintf(" (tolerationSeconds %d)", e.Number)
	}
	return ""
}
