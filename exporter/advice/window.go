package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Window counts the mistakes of a client that applies endpoint updates in batches. Length is the time for which the
// client collects the updates of a batch.
type Window struct {
	Length phrase.Seconds `json:"seconds"`
	// Bounces is the number of addresses that the client would have put back and removed again.
	Bounces int `json:"bounces"`
	// StaleReadds is the number of addresses that the client would have put back although their container was being
	// replaced.
	StaleReadds int `json:"stale_readds"`
}

// Windows has a Window for each length of transition.Windows.
type Windows [transition.NumWindows]Window

// NewWindows returns windows without mistakes.
func NewWindows() (all Windows) {
	for i, length := range transition.Windows() {
		all[i].Length = phrase.Seconds(length)
	}
	return all
}

// Of returns the window of a length.
func (w *Windows) Of(length time.Duration) *Window {
	lengths := transition.Windows()
	return &w[slices.Index(lengths[:], length)]
}

// batchPeriods names the kube-controller-manager flags that batch EndpointSlice and Endpoints updates.
const batchPeriods = "--endpointslice-updates-batch-period and --endpoint-updates-batch-period"

// windowRemedy returns the second half of the remedy for in-place updates: whether batching hides the mistakes of clients.
// The windows must be sorted by Length.
func windowRemedy(windows []Window) string {
	hiding := len(windows) // from this window on, no client makes a mistake
	for hiding > 0 && max(windows[hiding-1].Bounces, windows[hiding-1].StaleReadds) == 0 {
		hiding--
	}
	switch {
	case hiding == 0:
		return "No client of the Endpoints was affected, with or without batching."
	case hiding == len(windows):
		return fmt.Sprintf("Batching for up to %s, by %s or in the clients, is no substitute for the gate.", windows[hiding-1].Length, batchPeriods)
	}
	return fmt.Sprintf("If you cannot add a gate, set %s of the kube-controller-manager to %s, or let the clients batch endpoint updates for %[2]s. These addresses are then removed in one update.", batchPeriods, windows[hiding].Length)
}
