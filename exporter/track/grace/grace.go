// Package grace finds the node monitor grace period: from a flag, from the controller manager's pod, from what the node controller
// did, or from the version of the API server.
package grace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Source is how the grace period is known: the value of the label `source`.
type Source string

// The sources of the grace period.
const (
	SourceFlag              Source = "flag"
	SourceControllerManager Source = "controller_manager"
	SourceObserved          Source = "observed"
	SourceDefault           Source = "default"
)

// Setting is the node monitor grace period in force and how it is known. Its Period is 0 while nothing is known.
type Setting struct {
	Period time.Duration
	Source Source
}

// Defaults of --node-monitor-grace-period (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1): 40 s up to v1.31, 50 s from v1.32.
const (
	defaultGrace    = 50 * time.Second
	oldDefaultGrace = 40 * time.Second
	newDefaultMinor = 32
)

// MonitorSlack is the longest time between the end of the grace period and the
// node controller's Unknown. The controller sees a heartbeat up to one --node-monitor-period
// (5 s) late, decides up to one period later, and then needs time for the pass itself (node lifecycle
// controller, monitorNodeHealth).
const MonitorSlack = 15 * time.Second

// Finder finds the grace period.
type Finder struct {
	flag     time.Duration
	version  string
	managers map[event.UID]event.ControllerManager
	// aks: a node has the label of an AKS node pool.
	aks bool
	// episodes are the most recent times at which the node controller found lost nodes, oldest first.
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
)

// New makes a Finder. flag is the grace period if it is known beforehand, else 0.
func New(flag time.Duration) Finder {
	return Finder{flag: flag, managers: map[event.UID]event.ControllerManager{}}
}

// Current is the grace period in force; its Period is 0 while nothing is known.
func (g *Finder) Current() Setting {
	if g.flag > 0 {
		return Setting{g.flag, SourceFlag}
	}
	if len(g.managers) > 0 {
		return Setting{g.managersPeriod(), SourceControllerManager}
	}
	if g.version == "" {
		return Setting{}
	}
	period := defaultOf(g.version)
	if shortest, agreed := g.observed(); agreed && (shortest < period-time.Second || shortest > period+MonitorSlack) {
		return Setting{shortest.Truncate(time.Second), SourceObserved}
	}
	return Setting{period, SourceDefault}
}

// longestGrace is longer than any sensible grace period.
const longestGrace = 5 * time.Minute

// LongestUnseen is how long the node controller may leave a silent node Ready, with this grace period, for reasons that kubeflap cannot see: its leader has
// changed, so each node has a fresh grace period, or the cluster has a longer grace period than the default.
func (g *Finder) LongestUnseen(period time.Duration) time.Duration {
	longest := 2*period + MonitorSlack
	if !g.IsCertain() {
		longest = max(longest, longestGrace)
	}
	return longest
}

// IsCertain reports whether the grace period is more than the default of the version: it is set somewhere that can be seen, or the node controller has
// found a node lost after that time.
func (g *Finder) IsCertain() bool {
	is := g.Current()
	return is.Source != SourceDefault || slices.ContainsFunc(g.episodes, func(x episode) bool {
		return x.shortest >= is.Period-time.Second && x.shortest <= is.Period+MonitorSlack
	})
}

// IsManaged reports whether the cloud runs the control plane, so that nobody can set its flags: EKS and GKE by the version, AKS by
// a label of its nodes. A kube-controller-manager pod that is visible shows that somebody can.
func (g *Finder) IsManaged() bool {
	return len(g.managers) == 0 && (g.aks || strings.Contains(g.version, "-eks-") || strings.Contains(g.version, "-gke."))
}

// managersPeriod is the shortest of all controller managers: their leader may change at any time.
func (g *Finder) managersPeriod() time.Duration {
	var shortest time.Duration
	for _, m := range g.managers {
		period := m.GracePeriod
		if period == 0 {
			period = g.defaultFor(m)
		}
		if shortest == 0 || period < shortest {
			shortest = period
		}
	}
	return shortest
}

func (g *Finder) defaultFor(m event.ControllerManager) time.Duration {
	return defaultOf(firstOf(m.Version, g.version))
}

// Default is the default of --node-monitor-grace-period, the shortest of all controller managers; that of today if no version is known.
func (g *Finder) Default() time.Duration {
	shortest := time.Duration(0)
	for _, m := range g.managers {
		if period := g.defaultFor(m); shortest == 0 || period < shortest {
			shortest = period
		}
	}
	if shortest == 0 {
		return defaultOf(g.version)
	}
	return shortest
}

// observed is the grace period on which the newest episodes agree. Episodes agree if they differ by no more than the controller's own
// delay.
func (g *Finder) observed() (shortest time.Duration, agreed bool) {
	for _, newest := range slices.Backward(g.episodes) {
		shortest, n := newest.shortest, 0
		for _, x := range g.episodes {
			if d := x.shortest - newest.shortest; d.Abs() <= MonitorSlack {
				shortest = min(shortest, x.shortest)
			}
		}
		for _, x := range g.episodes {
			if x.shortest >= shortest && x.shortest <= shortest+MonitorSlack {
				n++
			}
		}
		if n >= believedAfter {
			return shortest, true
		}
	}
	return 0, false
}

// Sample takes one observation, of a node that sends heartbeats at an interval. No grace period that is shorter works: a node that is found
// lost sooner after its heartbeat shows a fault of the controller manager.
func (g *Finder) Sample(d time.Duration, t time.Time, interval time.Duration) {
	if d < interval*95/100 {
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

// Outlived drops the episodes that a node disproves, because it was silent for longer and stayed Ready. It reports whether there were any.
func (g *Finder) Outlived(d time.Duration) bool {
	before := len(g.episodes)
	g.episodes = slices.DeleteFunc(g.episodes, func(x episode) bool { return d > x.shortest+MonitorSlack })
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

// VersionIs records the version of the API server.
func (g *Finder) VersionIs(version string) { g.version = version }

// IsAKS records that a node belongs to an AKS node pool.
func (g *Finder) IsAKS() { g.aks = true }

// ApplyControllerManager takes the grace period from the pod of a kube-controller-manager, and reports whether that changed it. A
// pod that only looks like one may belong to another cluster, or be made to mislead.
func (g *Finder) ApplyControllerManager(o *event.Pod) bool {
	if o.ControllerManager == nil || o.Namespace != "kube-system" || o.Phase != "Running" || g.managers[o.UID] == *o.ControllerManager {
		return false
	}
	g.managers[o.UID] = *o.ControllerManager
	return true
}

// ForgetControllerManager records that a pod is gone, and reports whether it was a kube-controller-manager.
func (g *Finder) ForgetControllerManager(pod event.UID) bool {
	_, ok := g.managers[pod]
	delete(g.managers, pod)
	return ok
}
