package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Window is what a client that batches endpoint updates for Length would have done wrong.
type Window struct {
	Length time.Duration
	// Bounces are addresses that it put back and removed again.
	Bounces int
	// StaleReadds are addresses that it put back although their container was being replaced.
	StaleReadds int
}

// The flags of the kube-controller-manager that batch the updates of slices and Endpoints.
const batchPeriods = "--endpointslice-updates-batch-period and --endpoint-updates-batch-period"

// hidingWindow is the index of the shortest window that has none of what n counts, like all longer ones; -1 if the longest has some.
// Windows are sorted by Length.
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

// harmless reports whether no window counts anything.
func harmless(windows []Window) bool {
	return !slices.ContainsFunc(windows, func(w Window) bool { return misled(w) > 0 })
}

// windowRemedy is the second half of the remedy for in-place updates: what clients did, then the remedies after the readiness gate.
func windowRemedy(windows []Window) string {
	if harmless(windows) {
		return "No consumer of the Endpoints noticed, whether it batches updates or not."
	}
	var all []string
	if i := hidingWindow(windows, misled); i > 0 {
		length := phrase.Duration(windows[i].Length)
		all = append(all, fmt.Sprintf("If you cannot add a gate, set %s of the kube-controller-manager to %s: such addresses then leave in one update.", batchPeriods, length),
			fmt.Sprintf("If you cannot set these flags either, let the clients of the Endpoints batch updates for %s.", length))
	} else {
		all = append(all, fmt.Sprintf("Batching for up to %s, by %s or in the clients, does not replace the gate.",
			phrase.Duration(windows[len(windows)-1].Length), batchPeriods))
	}
	for _, s := range []string{staleText(windows), bounceText(windows)} {
		if s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, " ")
}

// staleText says how many stale addresses clients put back, by window; empty if there were none.
func staleText(windows []Window) string {
	var by []string
	for _, w := range windows {
		switch {
		case w.StaleReadds > 0 && w.Length == 0:
			by = append(by, fmt.Sprintf("%d without batching", w.StaleReadds))
		case w.StaleReadds > 0:
			by = append(by, fmt.Sprintf("%d if they batch for %s", w.StaleReadds, phrase.Duration(w.Length)))
		}
	}
	if len(by) == 0 {
		return ""
	}
	if i := hidingWindow(windows, staleReadds); i > 0 {
		by = append(by, "none if they batch for "+phrase.Duration(windows[i].Length))
	}
	return "Clients that apply all ready addresses would have put back addresses of containers that were about to be replaced: " + strings.Join(by, ", ") + "."
}

// bounceText says which window hides the bounces; empty if there were none.
func bounceText(windows []Window) string {
	i := hidingWindow(windows, bounces)
	switch {
	case windows[0].Bounces == 0:
		return ""
	case i < 0:
		return fmt.Sprintf("Batching updates for up to %s would not have hidden the %d bounces.",
			phrase.Duration(windows[len(windows)-1].Length), windows[0].Bounces)
	}
	s := fmt.Sprintf("Consumers that batch updates for %s would not have noticed the %d bounces", phrase.Duration(windows[i].Length), windows[0].Bounces)
	if i > 1 {
		w := windows[i-1]
		s += fmt.Sprintf("; those that batch for %s put back and took out %s again", phrase.Duration(w.Length), phrase.Count(w.Bounces, "address", "addresses"))
	}
	return s + "."
}

// windowAdvice ends the advice on in-place updates; empty if clients did nothing wrong.
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
	return fmt.Sprintf("; until then set %s of the kube-controller-manager to %s; only if you cannot, let the consumers of the Endpoints batch updates for %s, "+
		"which would have hidden the %s", batchPeriods, windows[i].Length, windows[i].Length, hidden)
}
