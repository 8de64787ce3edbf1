// Package grace determines the node monitor grace period. Its sources are a flag of kubeflap, the controller manager's
// pod, the node controller's observed behavior, and the API server's version.
package grace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Source says where the grace period comes from. It is the value of the `source` label.
type Source string

// Sources of the grace period.
const (
	SourceFlag              Source = "flag"
	SourceControllerManager Source = "controller_manager"
	SourceObserved          Source = "observed"
	SourceDefault           Source = "default"
)

// Setting is the current node monitor grace period and its source. Period is 0 if the grace period is unknown.
type Setting struct {
	Period time.Duration
	Source Source
}

// The default of --node-monitor-grace-period is 40 s up to v1.31, and 50 s from v1.32 (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1).
const (
	defaultGrace    = 50 * time.Second
	oldDefaultGrace = 40 * time.Second
	newDefaultMinor = 32
)

// MonitorSlack is the longest time from the end of the grace period until the node controller sets a node to Unknown.
// The controller checks nodes every --node-monitor-period (5 s). So it can see a heartbeat 5 s late, and act another 5
// s later. It also needs time to process all nodes (node lifecycle controller, monitorNodeHealth).
const MonitorSlack = 15 * time.Second

// Finder determines the grace period.
type Finder struct {
	flag     time.Duration
	version  string
	managers map[event.UID]event.ControllerManager
	// aks is set if any node has the label of an AKS node pool.
	aks bool
	// episodes holds the most recent episodes, oldest first.
	episodes []Episode
}

// Episode is a group of nodes that the node controller set to Unknown within a minute of each other. A group counts as
// one sample, because the same delay affects all its nodes.
type Episode struct {
	At time.Time `json:"at"`
	// Shortest is the shortest time from a node's last heartbeat until the node controller set the node to Unknown.
	Shortest time.Duration `json:"shortest"`
}

const (
	// believedAfter is the number of episodes that must agree before kubeflap believes that the grace period is not the
	// default. A slow or restarted controller manager can cause a single wrong sample.
	believedAfter = 3
	// rememberedEpisodes is the maximum number of stored episodes. It is larger than believedAfter, so a single wrong
	// sample has no effect.
	rememberedEpisodes = 5
)

// New returns a Finder. `flag` is the grace period that the user has set, or 0.
func New(flag time.Duration) Finder {
	return Finder{flag: flag, managers: map[event.UID]event.ControllerManager{}}
}

// Current returns the current grace period. Period is 0 if the grace period is unknown.
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

// longestGrace is an upper bound for grace periods in practice.
const longestGrace = 5 * time.Minute

// LongestUnseen returns the longest silence during which a healthy node controller can leave a node Ready. The reason
// for the delay can be invisible to kubeflap. For example, a leader change starts a new grace period for each node.
func (g *Finder) LongestUnseen(period time.Duration) time.Duration {
	longest := 2*period + MonitorSlack
	if !g.IsCertain() {
		longest = max(longest, longestGrace)
	}
	return longest
}

// IsCertain reports whether evidence confirms the grace period. A default is confirmed once the node controller has set
// a node to Unknown after a silence of approximately the default duration.
func (g *Finder) IsCertain() bool {
	is := g.Current()
	return is.Source != SourceDefault || slices.ContainsFunc(g.episodes, func(x Episode) bool {
		return x.Shortest >= is.Period-time.Second && x.Shortest <= is.Period+MonitorSlack
	})
}

// IsManaged reports whether a cloud provider runs the control plane. If so, users cannot set its flags. The version
// identifies EKS and GKE, and a node label identifies AKS. If a kube-controller-manager pod is visible, the control
// plane is not managed.
func (g *Finder) IsManaged() bool {
	return len(g.managers) == 0 && (g.aks || strings.Contains(g.version, "-eks-") || strings.Contains(g.version, "-gke."))
}

// managersPeriod returns the shortest grace period of all controller managers, because any of them can become the
// leader. It returns 0 if no controller manager is visible.
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

// Default returns the default of --node-monitor-grace-period, which depends on the controller manager's version. If
// several controller managers are visible, it returns their shortest default. If none is visible, it uses the API
// server's version. If no version is known, it returns the default of the newest versions.
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

// `observed` returns the newest grace period on which at least believedAfter episodes agree. Episodes agree if they
// differ by at most the controller's own delay (MonitorSlack).
func (g *Finder) observed() (shortest time.Duration, agreed bool) {
	for _, newest := range slices.Backward(g.episodes) {
		shortest, n := newest.Shortest, 0
		for _, x := range g.episodes {
			if d := x.Shortest - newest.Shortest; d.Abs() <= MonitorSlack {
				shortest = min(shortest, x.Shortest)
			}
		}
		for _, x := range g.episodes {
			if x.Shortest >= shortest && x.Shortest <= shortest+MonitorSlack {
				n++
			}
		}
		if n >= believedAfter {
			return shortest, true
		}
	}
	return 0, false
}

// Sample adds the time from a node's last heartbeat until the node controller set the node to Unknown. It ignores a
// time shorter than the node's heartbeat interval, because no working controller manager has such a short grace period.
func (g *Finder) Sample(d time.Duration, t time.Time, interval time.Duration) {
	if d < interval*95/100 {
		return
	}
	if n := len(g.episodes); n > 0 && t.Sub(g.episodes[n-1].At) <= time.Minute {
		g.episodes[n-1].Shortest = min(g.episodes[n-1].Shortest, d)
		return
	}
	if len(g.episodes) == rememberedEpisodes {
		g.episodes = slices.Delete(g.episodes, 0, 1)
	}
	g.episodes = append(g.episodes, Episode{t, d})
}

// Episodes returns the samples of the grace period, oldest first.
func (g *Finder) Episodes() []Episode { return slices.Clone(g.episodes) }

// Restore sets the samples of the grace period.
func (g *Finder) Restore(all []Episode) { g.episodes = all }

// NodeStayedReady records that a node stayed Ready during a silence of length d. It drops the episodes whose grace
// period is shorter than d by more than MonitorSlack, and reports whether there were any.
func (g *Finder) NodeStayedReady(d time.Duration) bool {
	before := len(g.episodes)
	g.episodes = slices.DeleteFunc(g.episodes, func(x Episode) bool { return d > x.Shortest+MonitorSlack })
	return len(g.episodes) < before
}

// defaultOf returns the default grace period of a Kubernetes version such as "v1.31.4+k3s1". If it cannot parse the
// version, it returns the default of the newest versions.
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

// SetVersion records the version of the API server.
func (g *Finder) SetVersion(version string) { g.version = version }

// SetAKS records that a node belongs to an AKS node pool.
func (g *Finder) SetAKS() { g.aks = true }

// ApplyControllerManager reads the grace period from a kube-controller-manager pod, and reports whether the grace
// period may have changed. It ignores pods outside kube-system, because they may belong to another cluster or be
// forged.
func (g *Finder) ApplyControllerManager(o *event.Pod) bool {
	if o.ControllerManager == nil || o.Namespace != "kube-system" || o.Phase != "Running" || g.managers[o.UID] == *o.ControllerManager {
		return false
	}
	g.managers[o.UID] = *o.ControllerManager
	return true
}

// ForgetControllerManager records a pod's deletion, and reports whether the pod was a kube-controller-manager.
func (g *Finder) ForgetControllerManager(pod event.UID) bool {
	_, ok := g.managers[pod]
	delete(g.managers, pod)
	return ok
}
