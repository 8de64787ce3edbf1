package controlplane

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Table compares grace periods. It counts the silences in which a node would have turned Unknown.
type Table struct {
	Cluster string `json:"cluster,omitempty"`
	// Since is the start of the period that the table covers.
	Since time.Time `json:"since,omitzero"`
	// Rows is empty if kubeflap cannot see silences.
	Rows []Row `json:"rows"`
	// Notes explains the table in a few sentences. Package advice writes them.
	Notes []string `json:"notes"`
}

// Row is the effect of a grace period. Silences is the number of silences in which a node turns Unknown. Addresses is the
// number of ready addresses that Services lose as a result. NoticedAfter is the longest time from the last heartbeat of a
// dead node until the node turns Unknown.
type Row struct {
	GracePeriod  float64 `json:"grace_period_seconds"`
	Silences     Range   `json:"silences"`
	Addresses    Range   `json:"addresses"`
	NoticedAfter float64 `json:"dead_node_noticed_after_seconds"`
}

// Range is a number between two limits. The limits differ if the exact number is unknown.
type Range struct {
	AtLeast int `json:"at_least"`
	AtMost  int `json:"at_most"`
}

// String returns the number, or both limits.
func (r Range) String() string {
	if r.AtLeast == r.AtMost {
		return fmt.Sprint(r.AtLeast)
	}
	return fmt.Sprintf("%d-%d", r.AtLeast, r.AtMost)
}

// Flags returns the other flags of the controller managers. If they differ, it returns the shortest, because any of them
// can become the leader.
func (g *GracePeriod) Flags() (shortest event.ControllerManagerFlags) {
	least := func(d *time.Duration, of time.Duration) {
		if of > 0 && (*d == 0 || of < *d) {
			*d = of
		}
	}
	for _, m := range g.managers {
		least(&shortest.MonitorPeriod, m.Flags.MonitorPeriod)
		least(&shortest.EvictionTimeout, m.Flags.EvictionTimeout)
	}
	return shortest
}

// MonitorPeriod returns the node monitor period. It returns the default if no kube-controller-manager pod sets it.
func (g *GracePeriod) MonitorPeriod() time.Duration {
	if period := g.Flags().MonitorPeriod; period > 0 {
		return min(max(period, time.Millisecond), time.Hour)
	}
	return 5 * time.Second
}

const (
	// jitter is the uncertainty of the times at which the node controller sees a heartbeat and starts a pass. `pass` is
	// the longest time that it usually needs to check all nodes once.
	jitter = 300 * time.Millisecond
	pass   = 30 * time.Millisecond
	// ShortestSilence is the shortest silence that makes a node Unknown with a grace period of 20 s.
	ShortestSilence = 20*time.Second - jitter
)

// Silence is a time without a heartbeat of a node. It ends with the next heartbeat that the node controller counts, or
// with the deletion of the Node.
type Silence struct {
	Node  string
	Ended time.Time
	// Longest is the longest possible length. Shortest is the length of the part in which the node was certainly silent
	// and the node controller may be assumed to work.
	Shortest, Longest time.Duration
	// Addresses is the number of ready addresses that Services lose if the node turns Unknown.
	Addresses int
}

// RowOf returns the effect of a grace period on silences. The node controller checks all nodes once per monitor period. In
// its first pass after a heartbeat, it stores the current time. It sets the node to Unknown in the first pass in which the
// stored time is older than the grace period (node lifecycle controller, tryUpdateNodeHealth). A pass begins one monitor
// period after the end of the previous pass (wait.UntilWithContext).
func RowOf(silences []Silence, period, monitor time.Duration) Row {
	passes := (period + monitor - 1) / monitor // after these passes, the grace period is over
	row := Row{GracePeriod: period.Seconds(), NoticedAfter: ((passes + 1) * monitor).Seconds()}
	for i := range silences {
		s := &silences[i]
		if s.Longest >= passes*monitor-jitter {
			row.Silences.AtMost++
			row.Addresses.AtMost += s.Addresses
		}
		if s.Shortest > (passes+1)*(monitor+pass)+jitter {
			row.Silences.AtLeast++
			row.Addresses.AtLeast += s.Addresses
		}
	}
	return row
}
