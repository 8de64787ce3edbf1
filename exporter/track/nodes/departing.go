package nodes

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// removalTaints announce that a node will be removed, drained or rebooted. A key that ends with a slash matches all keys that begin with it.
var removalTaints = []string{
	"ToBeDeletedByClusterAutoscaler",
	"karpenter.sh/disrupted", "karpenter.sh/disruption",
	"aws-node-termination-handler/",
	"cloud.google.com/impending-node-termination",
	"node.cluster.x-k8s.io/outdated-revision",
	"node-maintenance.medik8s.io/", "medik8s.io/drain",
}

const (
	// cordonAnnounces is how long a cordon announces a departure.
	cordonAnnounces = time.Hour
	// troubleBefore is how long a node must have been well before a cordon, for the cordon to announce anything: people also cordon
	// nodes that flap.
	troubleBefore = time.Hour
)

// departure is what announces that a node will leave.
type departure struct {
	// taint is the key of the removal taint, and since when it is there; empty if there is none.
	taint string
	since time.Time
	// cordoned is when the node became unschedulable, zero if it is schedulable. sound: it had been well for long.
	cordoned time.Time
	sound    bool
}

// noteDeparture takes in what announces that a node leaves.
func (n *node) noteDeparture(e event.Event, o *event.Node) {
	taint := ""
	for i := range o.Taints {
		if isRemoval(o.Taints[i].Key) {
			taint = o.Taints[i].Key
			break
		}
	}
	d := &n.departure
	if taint != d.taint {
		d.taint, d.since = taint, e.Seen
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(n.troubled) > troubleBefore && n.ready == event.StatusTrue
	}
}

func isRemoval(key string) bool {
	for _, taint := range removalTaints {
		if key == taint || strings.HasSuffix(taint, "/") && strings.HasPrefix(key, taint) {
			return true
		}
	}
	return false
}

// announced is what had announced a departure by t; empty if nothing had.
func (n *node) announced(t time.Time) string {
	d := &n.departure
	switch {
	case d.taint != "" && !d.since.After(t):
		return "the taint " + d.taint
	case d.sound && !d.cordoned.IsZero() && !d.cordoned.After(t) && t.Sub(d.cordoned) <= cordonAnnounces:
		return "a cordon"
	}
	return ""
}
