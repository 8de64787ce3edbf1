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

// hidingWindow returns the lowest index such that n is 0 for the window at this index and for all longer windows. The
// result is the number of windows if n is not 0 for the longest window. The windows must be sorted by Length.
func hidingWindow(windows []Window, n func(Window) int) int {
	i := len(windows)
	for i > 0 && n(windows[i-1]) == 0 {
		i--
	}
	return i
}

func bounces(w Window) int     { return w.Bounces }
func staleReadds(w Window) int { return w.StaleReadds }
func misled(w Window) int      { return w.Bounces + w.StaleReadds }

// windowRemedy returns the second half of the remedy for in-place updates. It describes the mistakes of clients, and
// whether batching prevents them.
func windowRemedy(windows []Window) string {
	i := hidingWindow(windows, misled)
	if i == 0 {
		return "No client of the Endpoints was affected, with or without batching."
	}
	text := ""
	if i < len(windows) {
		text = fmt.Sprintf("If you cannot add a gate, set %s of the kube-controller-manager to %s, or let the clients batch endpoint updates for %[2]s. These addresses are then removed in one update.", batchPeriods, windows[i].Length)
	} else {
		text = fmt.Sprintf("Batching for up to %s, by %s or in the clients, is no substitute for the gate.", windows[i-1].Length, batchPeriods)
	}
	return text + staleText(windows) + bounceText(windows)
}

// staleText describes how many stale addresses clients would have put back with each window. It is empty if there were
// none.
func staleText(windows []Window) string {
	hiding := hidingWindow(windows, staleReadds)
	if hiding == 0 {
		return ""
	}
	var by []string
	for i, w := range windows {
		count, with := "none", "without batching"
		if w.StaleReadds > 0 {
			count = fmt.Sprint(w.StaleReadds)
		}
		if w.Length > 0 {
			with = "with batches of " + w.Length.String()
		}
		if w.StaleReadds > 0 || i == hiding {
			by = append(by, count+" "+with)
		}
	}
	return " In this update, clients would have put back addresses of containers that were about to be replaced: " + strings.Join(by, ", ") + "."
}

// bounceText describes which batching window would have prevented the bounces. It is empty if there were no bounces.
func bounceText(windows []Window) string {
	i := hidingWindow(windows, bounces)
	switch {
	case windows[0].Bounces == 0:
		return ""
	case i == len(windows):
		return fmt.Sprintf(" Batching updates for up to %s would not have hidden %s.", windows[i-1].Length, the(windows[0].Bounces))
	}
	s := fmt.Sprintf(" Clients that batch updates for %s would not have noticed %s", windows[i].Length, the(windows[0].Bounces))
	if w := windows[i-1]; i > 1 {
		s += fmt.Sprintf("; clients that batch for %s would have put back and removed %s again", w.Length, phrase.Count(w.Bounces, "address", "addresses"))
	}
	return s + "."
}

func the(bounces int) string {
	if bounces == 1 {
		return "the bounce"
	}
	return fmt.Sprintf("the %d bounces", bounces)
}
