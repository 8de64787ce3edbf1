package incident

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// startsWithin is the longest time for which a kubelet that has just started normally reports Ready=False.
const startsWithin = 2 * time.Minute

// Said holds the first and the last words of a kubelet in a period of Ready=False. They can contain anything.
type Said struct {
	First, Last event.Words
	// Since and Until limit the period. Until is zero while it lasts.
	Since, Until time.Time
	// Returned is set if the kubelet was silent before the period. It may have just started.
	Returned bool
}

// End ends the period, unless s is nil or the period has ended.
func (s *Said) End(t time.Time) {
	if s != nil && s.Until.IsZero() {
		s.Until = t
	}
}

// explains reports whether the words explain why the node is not Ready, as of now. A start of the kubelet explains
// nothing.
func (s *Said) explains(now time.Time) bool {
	if !s.Until.IsZero() {
		now = s.Until
	}
	return !s.Returned || now.Sub(s.Since) > startsWithin
}

// String quotes the words.
func (s *Said) String() string {
	if s.First == s.Last {
		return phrase.Line(s.First.String())
	}
	return phrase.Line(s.First.String() + "; at last " + s.Last.String())
}

// telling returns the words that explain the period best, safe to display.
func (s *Said) telling() event.Words {
	w := s.First
	if s.Last.Kind() < s.First.Kind() || s.First.Message == "" {
		w = s.Last
	}
	return event.Words{Reason: phrase.Line(w.Reason), Message: phrase.Line(w.Message)}
}

// like reports whether the words are the same apart from numbers, because a message may contain the time since a
// failure.
func like(a, b event.Words) bool {
	return a.Reason == b.Reason && withoutNumbers(a.Message) == withoutNumbers(b.Message)
}

// withoutNumbers removes numbers, durations and times. For example, "3m7.6s" and "4m8s" are equal without them.
func withoutNumbers(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' || strings.ContainsRune(".hmµns", r) }), "")
}

// maxProblems limits the conditions of an incident.
const maxProblems = 20

// clarity is 0 if the kubelet said nothing, 1 if it said something of no known kind, and 2 otherwise.
func (s *Said) clarity() int {
	switch w := s.telling(); {
	case w == event.Words{}:
		return 0
	case w.Kind() == event.NotReadyOther:
		return 1
	}
	return 2
}

// Complaints holds what the nodes of an incident complained about.
type Complaints struct {
	// The field said is nil while no kubelet gave a reason for Ready=False. The field problems holds the types of other
	// conditions that turned True.
	said     *Said
	problems []string
}

// KubeletSaid adds the words of a kubelet, or nothing if s is nil. The newest period counts, unless an earlier one is
// clearer, or came before the kubelet's silence.
func (c *Complaints) KubeletSaid(s *Said) {
	if s != nil && (c.said == nil || !s.Returned && s.clarity() >= c.said.clarity()) {
		c.said = s
	}
}

// AddProblem adds the type of a condition that turned True. The remedy may begin with it, so it must not look like a command.
func (c *Complaints) AddProblem(condition string) {
	if strings.ContainsAny(condition, " (") {
		return
	}
	condition = phrase.Line(condition)
	if !slices.Contains(c.problems, condition) && len(c.problems) < maxProblems {
		c.problems = append(c.problems, condition)
	}
}

func (c *Complaints) take(from Complaints) {
	c.KubeletSaid(from.said)
	for _, condition := range from.problems {
		c.AddProblem(condition)
	}
}

// told returns the words of the kubelets that explain the incident best as of now, or none.
func (c *Complaints) told(now time.Time) (w event.Words) {
	if c.said != nil && c.said.explains(now) {
		w = c.said.telling()
	}
	return w
}

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
