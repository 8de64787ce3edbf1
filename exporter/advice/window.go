package advice

import (
	"fmt"
	"slices"
	"strings"
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

// mistakes returns how many addresses the client would have put back by mistake.
func (w Window) mistakes() int { return max(w.Bounces, w.StaleReadds) }

// windowRemedy returns the second half of the remedy for in-place updates. It describes the mistakes of clients, and
// whether batching prevents them. The windows must be sorted by Length.
func windowRemedy(windows []Window) string {
	hiding := len(windows) // from this window on, no client makes a mistake
	for hiding > 0 && windows[hiding-1].mistakes() == 0 {
		hiding--
	}
	if hiding == 0 {
		return "No client of the Endpoints was affected, with or without batching."
	}
	text := fmt.Sprintf("Batching for up to %s, by %s or in the clients, is no substitute for the gate.", windows[hiding-1].Length, batchPeriods)
	if hiding < len(windows) {
		text = fmt.Sprintf("If you cannot add a gate, set %s of the kube-controller-manager to %s, or let the clients batch endpoint updates for %[2]s. These addresses are then removed in one update.", batchPeriods, windows[hiding].Length)
	}
	var by []string
	for _, w := range windows[:hiding] {
		with := "without batching"
		if w.Length > 0 {
			with = "with batches of " + w.Length.String()
		}
		if w.mistakes() > 0 {
			by = append(by, fmt.Sprint(w.mistakes(), " ", with))
		}
	}
	return text + " In this update, clients would have put back addresses that were about to leave again: " + strings.Join(by, ", ") + "."
}
