package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Window is how many bounces a consumer sees that batches endpoint updates for Length.
type Window struct {
	Length  time.Duration
	Bounces int
}

// hidingWindow is the index of the shortest window that hides all bounces, -1 if none does. Windows are sorted by Length.
func hidingWindow(windows []Window) int {
	return slices.IndexFunc(windows, func(w Window) bool { return w.Bounces == 0 })
}

// windowRemedy is the second half of the remedy for in-place updates.
func windowRemedy(windows []Window) string {
	if len(windows) == 0 || windows[0].Bounces == 0 {
		return "No consumer of the Endpoints noticed, whether it batches updates or not."
	}
	i := hidingWindow(windows)
	if i < 0 {
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

// windowAdvice ends the advice on in-place updates; empty if there were no bounces.
func windowAdvice(windows []Window) string {
	if len(windows) == 0 || windows[0].Bounces == 0 {
		return ""
	}
	i := hidingWindow(windows)
	if i < 0 {
		return fmt.Sprintf("; batching updates for %s does not hide the bounces", windows[len(windows)-1].Length)
	}
	return fmt.Sprintf("; until then let the consumers of the Endpoints batch updates for %s, which would have hidden the bounces", windows[i].Length)
}
