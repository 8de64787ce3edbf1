package controlplane

import (
	"fmt"
	"time"
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

// Rows returns the rows of a Table. The node controller has the given node monitor period.
func Rows(silences []Silence, monitor time.Duration) (rows []Row) {
	for _, seconds := range [...]time.Duration{20, 30, 40, 50, 60, 80, 100, 120} {
		period := seconds * time.Second
		row := Row{GracePeriod: period.Seconds(), NoticedAfter: ((passes(period, monitor) + 1) * monitor).Seconds()}
		for i := range silences {
			one, addresses := silences[i].With(period, monitor), silences[i].Addresses
			row.Silences = Range{row.Silences.AtLeast + one.AtLeast, row.Silences.AtMost + one.AtMost}
			row.Addresses = Range{row.Addresses.AtLeast + one.AtLeast*addresses, row.Addresses.AtMost + one.AtMost*addresses}
		}
		rows = append(rows, row)
	}
	return rows
}

// MonitorPeriod returns the node monitor period. It returns the default if no kube-controller-manager pod sets it.
func (g *GracePeriod) MonitorPeriod() time.Duration {
	for _, flag := range g.Flags(nil) {
		if flag.Name == "node-monitor-period" && flag.Value > 0 {
			return time.Duration(min(max(flag.Value, 0.001), 3600) * float64(time.Second))
		}
	}
	return 5 * time.Second
}
