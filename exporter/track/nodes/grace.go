package nodes

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// GraceSource is how the grace period is known: the value of the label `source`.
type GraceSource string

// The sources of the grace period.
const (
	SourceFlag              GraceSource = "flag"
	SourceControllerManager GraceSource = "controller_manager"
	SourceObserved          GraceSource = "observed"
	SourceDefault           GraceSource = "default"
)

// Grace is the node monitor grace period in force and how it is known.
type Grace struct {
	Period time.Duration
	Source GraceSource
}

// Defaults of --node-monitor-grace-period (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1): 40 s up to v1.31, 50 s from v1.32.
const (
	defaultGrace    = 50 * time.Second
	oldDefaultGrace = 40 * time.Second
	newDefaultMinor = 32
)

// monitorSlack is the longest time between the end of the grace period and the
// node controller's Unknown. The controller sees a heartbeat up to one --node-monitor-period
// (5 s) late, decides up to one period later, and then needs time for the pass itself (node lifecycle
// controller, monitorNodeHealth).
const monitorSlack = 15 * time.Second

// graceFinder finds the grace period.
type graceFinder struct {
	flag     time.Duration
	version  string
	managers map[event.UID]event.ControllerManager
	// aks: a node has the label of an AKS node pool.
	aks bool
	// episodes are the last times at which the node controller found nodes lost, the newest last.
	episodes []episode
}

// episode is a time at which nodes were found lost. Nodes within a minute are one episode: what delayed the first delayed all.
type episode struct {
	at time.Time
	// shortest is the shortest time from a node's last heartbeat to the node controller's Unknown.
	shortest time.Duration
}

const (
	// believedAfter is how many episodes must agree on a grace period that is not the default. A slow or restarted controller manager
	// makes single odd ones.
	believedAfter = 3
	// rememberedEpisodes is larger, so that one odd episode does no harm.
	rememberedEpisodes = 5
	// leastGrace is shorter than any grace period that works: kubelets renew every 10 s. A node that is found lost sooner
	// after its heartbeat shows a fault of the controller manager.
	leastGrace = 9500 * time.Millisecond
)

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
	if shortest, agreed := g.observed(); agreed && (shortest < period-time.Second || shortest > period+monitorSlack) {
		return Grace{shortest.Truncate(time.Second), SourceObserved}
	}
	return Grace{period, SourceDefault}
}

// isManaged reports whether the cloud runs the control plane, so that nobody can set its flags: EKS and GKE by the version, AKS by
// a label of its nodes. A kube-controller-manager pod that is visible shows that somebody can.
func (g *graceFinder) isManaged() bool {
	return len(g.managers) == 0 && (g.aks || strings.Contains(g.version, "-eks-") || strings.Contains(g.version, "-gke."))
}

// managersPeriod is the shortest of all controller managers: their leader may change at any time.
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

// observed is the grace period on which the newest episodes agree. Episodes agree if they differ by no more than the controller's own
// delay.
func (g *graceFinder) observed() (shortest time.Duration, agreed bool) {
	for _, newest := range slices.Backward(g.episodes) {
		shortest, n := newest.shortest, 0
		for _, x := range g.episodes {
			if d := x.shortest - newest.shortest; d.Abs() <= monitorSlack {
				shortest = min(shortest, x.shortest)
			}
		}
		for _, x := range g.episodes {
			if x.shortest >= shortest && x.shortest <= shortest+monitorSlack {
				n++
			}
		}
		if n >= believedAfter {
			return shortest, true
		}
	}
	return 0, false
}

// sample takes one observation.
func (g *graceFinder) sample(d time.Duration, t time.Time) {
	if d < leastGrace {
		return
	}
	if n := len(g.episodes); n > 0 && t.Sub(g.episodes[n-1].at) <= time.Minute {
		g.episodes[n-1].shortest = min(g.episodes[n-1].shortest, d)
		return
	}
	if len(g.episodes) == rememberedEpisodes {
		g.episodes = slices.Delete(g.episodes, 0, 1)
	}
	g.episodes = append(g.episodes, episode{t, d})
}

// outlived drops the episodes that a node disproves, because it was silent for longer and stayed Ready. It reports whether there were any.
func (g *graceFinder) outlived(d time.Duration) bool {
	before := len(g.episodes)
	g.episodes = slices.DeleteFunc(g.episodes, func(x episode) bool { return d > x.shortest+monitorSlack })
	return len(g.episodes) < before
}

// defaultOf is the default of a Kubernetes version such as "v1.31.4+k3s1". An
// unreadable version gets today's default.
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
func (x *Nodes) GracePeriod() Grace { return x.grace.current() }

// ServerVersion takes in the version of the API server.
func (x *Nodes) ServerVersion(version string) {
	x.grace.version = version
	x.graceChanged()
}

// ApplyControllerManager takes the grace period from the pod of a kube-controller-manager. A pod that only looks like one
// may belong to another cluster, or be made to mislead.
func (x *Nodes) ApplyControllerManager(o *event.Pod) {
	if o.ControllerManager == nil || o.Namespace != "kube-system" || o.Phase != "Running" || x.grace.managers[o.UID] == *o.ControllerManager {
		return
	}
	x.grace.managers[o.UID] = *o.ControllerManager
	x.graceChanged()
}

// ForgetControllerManager takes in that a pod is gone.
func (x *Nodes) ForgetControllerManager(pod event.UID) {
	if _, ok := x.grace.managers[pod]; ok {
		delete(x.grace.managers, pod)
		x.graceChanged()
	}
}

// graceChanged applies a new grace period to the current intervals.
func (x *Nodes) graceChanged() {
	if grace := x.grace.current(); grace.Period != x.period {
		x.awaitAll(x.nodes, grace.Period)
	}
}
