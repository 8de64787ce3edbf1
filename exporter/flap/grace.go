package flap

import (
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The sources of the grace period, as in the label `source`.
const (
	SourceFlag              = "flag"
	SourceControllerManager = "controller_manager"
	SourceObserved          = "observed"
	SourceDefault           = "default"
)

// Grace is the node monitor grace period in force and how it is known.
type Grace struct {
	Period time.Duration
	Source string
}

// Defaults of --node-monitor-grace-period (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1): 40 s up to v1.31, 50 s from v1.32.
const (
	defaultGrace    = 50 * time.Second
	oldDefaultGrace = 40 * time.Second
	newDefaultMinor = 32
)

// monitorSlack is how much longer than the grace period it takes at most until
// the node controller writes Unknown: it sees a heartbeat up to one --node-monitor-period
// (5 s) late and decides up to one later, plus the pass itself (node lifecycle
// controller, monitorNodeHealth).
const monitorSlack = 15 * time.Second

// graceFinder finds out the grace period from what the cluster shows.
type graceFinder struct {
	flag     time.Duration
	version  string
	managers map[event.UID]event.ControllerManager
	// shortest is the shortest time seen from a node's last heartbeat to the
	// node controller's Unknown; samples counts them.
	shortest time.Duration
	samples  int
	sampled  time.Time
}

func newGraceFinder(flag time.Duration) graceFinder {
	return graceFinder{flag: flag, managers: map[event.UID]event.ControllerManager{}}
}

// current is the grace period in force; its Period is 0 while nothing is known.
func (g *graceFinder) current() Grace {
	if g.flag > 0 {
		return Grace{g.flag, SourceFlag}
	}
	if len(g.managers) > 0 {
		return Grace{g.managersPeriod(), SourceControllerManager}
	}
	if g.version == "" {
		return Grace{}
	}
	period := defaultOf(g.version)
	if g.contradicts(period) {
		return Grace{g.shortest.Truncate(time.Second), SourceObserved}
	}
	return Grace{period, SourceDefault}
}

// managersPeriod is the shortest of all managers': which of them leads may change at any time.
func (g *graceFinder) managersPeriod() time.Duration {
	var shortest time.Duration
	for _, m := range g.managers {
		period := m.GracePeriod
		if period == 0 {
			period = defaultOf(firstOf(m.Version, g.version))
		}
		if shortest == 0 || period < shortest {
			shortest = period
		}
	}
	return shortest
}

// contradicts reports whether what was seen rules the default out. A time that
// is too long may be a controller manager's restart, which gives every node a new grace
// period, so it takes several.
func (g *graceFinder) contradicts(period time.Duration) bool {
	if g.samples == 0 {
		return false
	}
	return g.shortest < period-time.Second || g.samples >= 3 && g.shortest > period+monitorSlack
}

// sample takes one observation. Nodes that are lost together, within a minute,
// are one: what made the first wait made all wait.
func (g *graceFinder) sample(d time.Duration, t time.Time) {
	if g.samples == 0 || d < g.shortest {
		g.shortest = d
	}
	if g.samples == 0 || t.Sub(g.sampled) > time.Minute {
		g.samples++
		g.sampled = t
	}
}

// defaultOf is the default of a Kubernetes version such as "v1.31.4+k3s1"; a
// version that says nothing gets today's.
func defaultOf(version string) time.Duration {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return defaultGrace
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	if err == nil && minor < newDefaultMinor {
		return oldDefaultGrace
	}
	return defaultGrace
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// GracePeriod is the node monitor grace period in force; Period is 0 while unknown.
func (f *Fold) GracePeriod() Grace {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.grace.current()
}

// graceChanged makes a new grace period count for the heartbeats that are due.
func (f *Fold) graceChanged() {
	grace := f.grace.current()
	if grace.Period == f.beats.grace {
		return
	}
	f.beats.grace = grace.Period
	f.awaitAll()
}
