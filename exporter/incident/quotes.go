package incident

import (
	"cmp"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// maxQuotes limits the number of different quotes of an incident.
const maxQuotes = 50

// Quotes counts what the API says about the losses of an incident. The words can contain anything.
type Quotes map[Quote]int

// Quote is what the API says about a loss with a cause.
type Quote struct {
	Cause cause.Cause
	Words string
}

// Add counts a quote, unless it is empty.
func (q *Quotes) Add(x Quote, n int) {
	if *q == nil {
		*q = Quotes{}
	}
	if x.Words != "" && (len(*q) < maxQuotes || (*q)[x] > 0) {
		(*q)[x] += n
	}
}

// most returns the words that most losses with a cause have, safe to display. Of several, it returns the longest, which say
// most.
func (q Quotes) most(is cause.Cause) string {
	var most Quote
	for x, n := range q {
		if x.Cause == is && cmp.Or(cmp.Compare(n, q[most]), cmp.Compare(len(x.Words), len(most.Words)), cmp.Compare(x.Words, most.Words)) > 0 {
			most = x
		}
	}
	return phrase.Line(most.Words)
}

// quoted returns what the API says about the cause of an incident of a workload or a Service, in parentheses, or nothing.
func (f *Facts) quoted() string {
	if words := f.Quotes.most(f.Cause); words != "" {
		return " (" + words + ")"
	}
	return ""
}

// relabelled reports whether the pods were relabelled, so that a Service no longer selects them. A change of a Service is
// about the Service, not about its pods.
func (f *Facts) relabelled() bool { return f.Kind == KindWorkload && f.Cause == cause.ServiceChanged }

// probedBefore reports whether containers exited after their probes had failed.
func (f *Facts) probedBefore() bool {
	_, probed := f.ByCause[cause.ProbeFailed]
	return probed && f.Cause == cause.ContainerExit
}
