package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Window counts the mistakes of a client that applies endpoint updates in batches. Length is the time for which the
// client collects the updates of a batch.
type Window struct {
	Length time.Duration
	// Bounces is the number of addresses that the client would have put back and removed again.
	Bounces int
	// StaleReadds is the number of addresses that the client would have put back although their container was being
	// replaced.
	StaleReadds int
}

// batchPeriods names the kube-controller-manager flags that batch EndpointSlice and Endpoints updates.
const batchPeriods = "--endpointslice-updates-batch-period and --endpoint-updates-batch-period"

// hidingWindow returns the lowest index such that n is 0 for the window at this index and for all longer windows. It
// returns -1 if n is not 0 for the longest window. The windows must be sorted by Length.
func hidingWindow(windows []Window, n func(Window) int) int {
	for i := len(windows); i > 0; i-- {
		if n(windows[i-1]) == 0 {
			continue
		}
		if i == len(windows) {
			return -1
		}
		return i
	}
	return 0
}

func bounces(w Window) int     { return w.Bounces }
func staleReadds(w Window) int { return w.StaleReadds }
func misled(w Window) int      { return w.Bounces + w.StaleReadds }

// harmless reports whether clients made no mistake in any window.
func harmless(windows []Window) bool {
	return !slices.ContainsFunc(windows, func(w Window) bool { return misled(w) > 0 })
}

// windowRemedy returns the second half of the remedy for in-place updates. It describes the mistakes of clients, and
// whether batching prevents them.
func windowRemedy(windows []Window) string {
	if harmless(windows) {
		return "No client of the Endpoints was affected, with or without batching."
	}
	var all []string
	if i := hidingWindow(windows, misled); i > 0 {
		length := phrase.Duration(windows[i].Length)
		all = append(all, fmt.Sprintf("If you cannot add a gate, set %s of the kube-controller-manager to %s, or let the clients batch endpoint updates for %[2]s. These addresses are then removed in one update.", batchPeriods, length))
	} else {
		all = append(all, fmt.Sprintf("Batching for up to %s, by %s or in the clients, is no substitute for the gate.",
			phrase.Duration(windows[len(windows)-1].Length), batchPeriods))
	}
	for _, s := range []string{staleText(windows), bounceText(windows)} {
		if s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, " ")
}

// staleText describes how many stale addresses clients would have put back with each window. It is empty if there were
// none.
func staleText(windows []Window) string {
	var by []string
	for _, w := range windows {
		switch {
		case w.StaleReadds > 0 && w.Length == 0:
			by = append(by, fmt.Sprintf("%d without batching", w.StaleReadds))
		case w.StaleReadds > 0:
			by = append(by, fmt.Sprintf("%d with batches of %s", w.StaleReadds, phrase.Duration(w.Length)))
		}
	}
	if len(by) == 0 {
		return ""
	}
	if i := hidingWindow(windows, staleReadds); i > 0 {
		by = append(by, "none with batches of "+phrase.Duration(windows[i].Length))
	}
	return "In this update, clients would have put back addresses of containers that were about to be replaced: " + strings.Join(by, ", ") + "."
}

// bounceText describes which batching window would have prevented the bounces. It is empty if there were no bounces.
func bounceText(windows []Window) string {
	i := hidingWindow(windows, bounces)
	switch {
	case windows[0].Bounces == 0:
		return ""
	case i < 0:
		return fmt.Sprintf("Batching updates for up to %s would not have hidden the %d bounces.",
			phrase.Duration(windows[len(windows)-1].Length), windows[0].Bounces)
	}
	s := fmt.Sprintf("Clients that batch updates for %s would not have noticed the %d bounces", phrase.Duration(windows[i].Length), windows[0].Bounces)
	if i > 1 {
		w := windows[i-1]
		s += fmt.Sprintf("; clients that batch for %s would have put back and removed %s again", phrase.Duration(w.Length), phrase.Count(w.Bounces, "address", "addresses"))
	}
	return s + "."
}

// windowAdvice returns the batching advice for in-place updates. It is empty if clients made no mistakes.
func windowAdvice(windows []Window) string {
	if harmless(windows) {
		return ""
	}
	hidden := "bounces"
	switch {
	case !slices.ContainsFunc(windows, func(w Window) bool { return w.StaleReadds > 0 }):
	case !slices.ContainsFunc(windows, func(w Window) bool { return w.Bounces > 0 }):
		hidden = "stale re-adds"
	default:
		hidden = "bounces and stale re-adds"
	}
	i := hidingWindow(windows, misled)
	if i < 0 {
		return fmt.Sprintf("; batching updates for %s does not hide the %s", windows[len(windows)-1].Length, hidden)
	}
	return fmt.Sprintf("; until then, set %s of the kube-controller-manager to %s; only if you cannot set these flags, let the clients of the Endpoints batch updates for %s; either would have hidden the %s", batchPeriods, windows[i].Length, windows[i].Length, hidden)
}
