package evidence

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

// sentences holds the sentence of each kind. Entry.value returns the values of the variables.
var sentences = [VerdictRevised + 1]string{
	LastHeartbeat:    "$nodes: last heartbeat",
	HeartbeatBefore:  "$nodes: last heartbeat before kubeflap started (time from the node's own clock)",
	UnknownBefore:    "$nodes: the node controller had set Ready to Unknown before kubeflap started (time from the node controller's clock)",
	FoundLost:        "$nodes: already lost when kubeflap started",
	ClockSetBack:     "$nodes: clock set back by $duration. The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp",
	HeartbeatLate:    "$nodes: no heartbeat for $duration (half of the grace period)",
	HeartbeatMissed:  "$nodes: no heartbeat for $duration (the whole grace period)",
	NodeUnknown:      "$nodes: the node controller turned Ready from True to Unknown$age",
	NodeNotReady:     "$nodes: the kubelet itself reports Ready=False",
	NodeNotMarked:    "$nodes: no heartbeat for $duration, but the node controller has not set Ready to Unknown",
	NodeWasUnknown:   "$nodes: Ready turned Unknown and then True again while the watch was broken",
	HeartbeatSeen:    "$nodes: heartbeats resumed$after",
	HeartbeatsInTime: "$nodes: the heartbeats of the last $duration were on time, but kubeflap's watch delivered them late",
	NodeReady:        "$nodes: Ready again after $duration",
	NodeRebooted:     "$nodes: the machine was rebooted (it has a new bootID)",
	KubeletUpgraded:  "$nodes: the kubelet was upgraded (it reports a different version)",
	NodeRemoved:      "$nodes: the Node was deleted",
	NodeRegistered:   "$nodes: the Node was created again with the same bootID, so the machine was not rebooted",
	NodeReplaced:     "$nodes: the Node was created again with a different providerID, so it is a different machine",
	NodeUnclear:      "$nodes: the Node was created again with a new bootID, so the machine was rebooted or replaced",

	PodUpdated: "$pods: image changed in place while Ready was still True",

	PodUpdatedNotReady: "$pods: image changed in place while Ready was not True",
	PodRestarted:       "$pods: a container restarted and Ready stayed True",
	PodWasStale:        "$pods: Ready stayed True for up to $duration after the image changed or the container exited",
	PodNotReady:        "$pods: Ready turned from True to False",
	EvictedUnknown:     "$pods: evicted $seconds after the node turned Unknown$toleration",
	EvictedNotReady:    "$pods: evicted $seconds after the node reported Ready=False$toleration",

	AddressLost:     "$service lost ${count|ready address|ready addresses}$first",
	StaleReadd:      "$service: clients that applied the ready addresses would have put ${count|address|addresses} back$first before the container was replaced",
	OutageStarted:   "$service has no ready address left$times",
	OutageEnded:     "$service has a ready address again, after $about$duration without any$times",
	AddressReturned: "$service: ${count|address is|addresses are} back in rotation",
	AddressRemoved:  "$service: ${count|address that was not ready was|addresses that were not ready were} removed$first",
	AddressLeftOut:  "$service: ${count|address that was not ready is|addresses that were not ready are} left out of its truncated Endpoints$first",
	ServiceRemoved:  "$service was deleted",

	ForeignAddresses:      "$service has a selector, but an unexpected writer added ${number|address|addresses} to $name$times",
	ForeignEnded:          "$service: no more addresses from an unexpected writer in $name$times",
	AddressesWithdrawn:    "$service: ${number|ready pod address was|ready pod addresses were} removed from $name, but not by a controller$times",
	WithdrawnReturned:     "$service: no pod address is missing any more from $name$times",
	Contested:             "$service: $name$times",
	SelectorConflict:      "$service has a selector and ${number|manually managed address|manually managed addresses}",
	SelectorConflictEnded: "$service: the selector conflict is resolved",
	EndpointsOverwritten:  "$service has a selector and empty Endpoints. Somebody had applied addresses, but they were overwritten before kubeflap saw them",
	EndpointsReset:        "$service: all manually managed addresses ($number) were removed$times",
	EndpointsRewritten:    "$service: ${number|manually managed address is|manually managed addresses are} back",

	APIServerStopped: "$servers before an interruption",
	LeaderLate:       "$name: last Lease renewal of the leader before an interruption",
	LeaderChanged:    "$leader",
	LeasesRead:       "$read$times",
	WatchBroke:       "kubeflap's own watch of $name broke, so kubeflap missed all changes after that",
	WatchWorks:       "kubeflap's watch of $name works again after $duration",
	Stopped:          "kubeflap stopped watching",
	VerdictRevised:   "the verdict was revised $name",
}

// sentence returns the entry as a sentence.
func (e *Entry) sentence() string { return os.Expand(sentences[e.Kind], e.value) }

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
		return phrase.Duration(e.Duration)
	case "seconds":
		return phrase.Duration(e.Duration.Round(time.Second))
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
		return ", " + phrase.Duration(e.Duration) + " after the last heartbeat"
	case name == "after" && e.Duration != 0:
		return " after " + phrase.Duration(e.Duration)
	case name == "about" && e.Inexact:
		return "about "
	case name == "toleration" && e.Number != UnknownToleration:
		return fmt.Sprintf(" (tolerationSeconds %d)", e.Number)
	}
	return ""
}
