package track

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// takeTrigger gives a finding whose cause lies in a node the trigger of what happened to the node. All else keeps its own.
func (f *Tracker) takeTrigger(x *Finding) {
	switch x.Cause {
	case CauseNodeHeartbeatLost, CauseNodeNotReady, CauseKubeletRestart:
		if n := f.nodes[x.Node]; n != nil && n.exists {
			x.Trigger = n.trigger(x.Cause)
		}
	}
}

// trigger is the node and its last sign of life: of a silence the last renewTime, of a kubelet that says that it is not ready its
// lastTransitionTime.
func (n *node) trigger(cause Cause) uint64 {
	at := n.heartbeat.reported
	switch {
	case cause == CauseNodeNotReady:
		at = n.saidFalse
	case cause == CauseNodeHeartbeatLost && !n.heartbeat.shown.IsZero():
		at = n.heartbeat.shown
	}
	return hashTrigger(n.uid, at.UTC().Format(time.RFC3339Nano))
}

// trigger is the Service and the write of the object with which something happened to it.
func (f *Tracker) trigger(s *service) uint64 { return hashTrigger(s.uid, f.version) }

// hashTrigger is 0 only if the UID or the version is missing, as in older recordings.
func hashTrigger(id event.UID, version string) uint64 {
	if id.IsZero() || version == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write(id[:])
	h.Write([]byte(version))
	return binary.BigEndian.Uint64(h.Sum(nil)) | 1
}
