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

// inParentheses returns the same as most, in parentheses, or nothing.
func (q Quotes) inParentheses(is cause.Cause) string {
	if words := q.most(is); words != "" {
		return " (" + words + ")"
	}
	return ""
}
