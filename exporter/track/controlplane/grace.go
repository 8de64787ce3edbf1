package controlplane

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
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

const (
	// DefaultGracePeriod is the default of --node-monitor-grace-period from v1.32. Up to v1.31, the default is 40 s
	// (kube-controller-manager, pkg/controller/nodelifecycle/config/v1alpha1).
	DefaultGracePeriod = 50 * time.Second

	oldDefaultGrace = 40 * time.Second
	newDefaultMinor = 32
)

// MonitorSlack is the longest time from the end of the grace period until the node controller sets a node to Unknown.
// The controller checks nodes every --node-monitor-period (5 s). So it can see a heartbeat 5 s late, and act another 5
// s later. It also needs time to process all nodes (node lifecycle controller, monitorNodeHealth).
const MonitorSlack = 15 * time.Second

// GracePeriod determines the node monitor grace period. Its sources are a flag of kubeflap, the controller manager's
// pod, the node controller's observed behavior, and the API server's version.
type GracePeriod struct {
	// Setting is the current grace period.
	Setting
	watches  *watches.Watches
	found    *transition.List
	flag     time.Duration
	version  string
	managers map[event.UID]event.ControllerManager
	// aks is set if any node has the label of an AKS node pool.
	aks bool
	// episodes holds the most recent episodes, oldest first.
	episodes []Episode
	// `nodes` is the number of nodes, and `interval` the longest of their normal heartbeat intervals.
	nodes    int
	interval time.Duration
	// `reported` holds the last reported facts about the grace period.
	reported transition.GracePeriodKnown
}

// newGracePeriod returns a GracePeriod. `flag` is the grace period that the user has set, or 0.
func newGracePeriod(flag time.Duration, w *watches.Watches, found *transition.List) GracePeriod {
	g := GracePeriod{flag: flag, watches: w, found: found, managers: map[event.UID]event.ControllerManager{}}
	g.Setting = g.current()
	return g
}

func (g *GracePeriod) current() Setting {
	switch shortest, _ := g.byManagers(); {
	case g.flag > 0:
		return Setting{g.flag, SourceFlag}
	case len(g.managers) > 0:
		return Setting{shortest, SourceControllerManager}
	case g.version == "":
		return Setting{}
	}
	period := defaultOf(g.version)
	if shortest, agreed := g.observed(); agreed && (shortest < period-time.Second || shortest > period+MonitorSlack) {
		return Setting{shortest.Truncate(time.Second), SourceObserved}
	}
	return Setting{period, SourceDefault}
}

// LongestUnseen returns the longest silence during which a healthy node controller can leave a node Ready, if the grace
// period is certain. A leader change that kubeflap did not see starts a new grace period for each node.
func (g *GracePeriod) LongestUnseen() time.Duration { return 2*g.Period + MonitorSlack }

// IsCertain reports whether evidence confirms the grace period. A default is confirmed once the node controller has set
// a node to Unknown after a silence of approximately the default duration.
func (g *GracePeriod) IsCertain() bool {
	return g.Source != SourceDefault || slices.ContainsFunc(g.episodes, func(x Episode) bool {
		return x.Shortest >= g.Period-time.Second && x.Shortest <= g.Period+MonitorSlack
	})
}

// IsManaged reports whether a cloud provider runs the control plane. If so, users cannot set its flags. The version
// identifies EKS and GKE, and a node label identifies AKS. If a kube-controller-manager pod is visible, the control
// plane is not managed.
func (g *GracePeriod) IsManaged() bool {
	return len(g.managers) == 0 && (g.aks || strings.Contains(g.version, "-eks-") || strings.Contains(g.version, "-gke."))
}

// byManagers returns the shortest grace period of all controller managers, because any of them can become the leader. It
// also returns their shortest default, which depends on the version of a controller manager, or on the API server's if
// that version is not known. Both are 0 if no controller manager is visible.
func (g *GracePeriod) byManagers() (period, byDefault time.Duration) {
	for _, m := range g.managers {
		d := defaultOf(cmp.Or(m.Version, g.version))
		if p := cmp.Or(m.GracePeriod, d); period == 0 || p < period {
			period = p
		}
		if byDefault == 0 || d < byDefault {
			byDefault = d
		}
	}
	return period, byDefault
}

// defaultOf returns the default grace period of a Kubernetes version.
func defaultOf(version string) time.Duration {
	if Minor(version) < newDefaultMinor {
		return oldDefaultGrace
	}
	return DefaultGracePeriod
}

// Minor returns the minor number of a Kubernetes version such as "v1.31.4+k3s1". A version that it cannot parse counts as
// newer than all others.
func Minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	number, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(strings.TrimRight(number, "+"))
	if err != nil {
		return math.MaxInt
	}
	return minor
}

// SetVersion records the version of the API server.
func (g *GracePeriod) SetVersion(version string) {
	g.version = version
	g.changed()
}

// SetAKS records that a node belongs to an AKS node pool.
func (g *GracePeriod) SetAKS() {
	g.aks = true
	g.changed()
}

// ApplyControllerManager reads the grace period from a kube-controller-manager pod. It ignores pods outside kube-system,
// because they may belong to another cluster or be forged.
func (g *GracePeriod) ApplyControllerManager(o *event.Pod) {
	if o.ControllerManager == nil || o.Namespace != "kube-system" || o.Phase != "Running" {
		return
	}
	g.managers[o.UID] = *o.ControllerManager
	g.changed()
}

// ForgetControllerManager handles the deletion of a pod, which may be a kube-controller-manager.
func (g *GracePeriod) ForgetControllerManager(pod event.UID) {
	if _, ok := g.managers[pod]; ok {
		delete(g.managers, pod)
		g.changed()
	}
}

// SetNodes records the number of nodes and the longest of their normal heartbeat intervals.
func (g *GracePeriod) SetNodes(nodes int, longest time.Duration) {
	if g.nodes != nodes || g.interval != longest {
		g.nodes, g.interval = nodes, longest
		g.changed()
	}
}

// changed determines the grace period again, and adds a transition if the facts about it have changed.
func (g *GracePeriod) changed() {
	g.Setting = g.current()
	_, byDefault := g.byManagers()
	now := transition.GracePeriodKnown{
		At: transition.At{Time: g.watches.Now()}, Period: g.Period, Interval: g.interval, Nodes: g.nodes, Managed: g.IsManaged(), Assumed: g.Source == SourceDefault,
		Default: cmp.Or(byDefault, defaultOf(g.version)),
	}
	if g.reported.At = now.At; !now.Time.IsZero() && now != g.reported {
		g.reported = now
		g.found.Add(now)
	}
}
