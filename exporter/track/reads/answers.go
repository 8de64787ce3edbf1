package reads

import "time"

// answersWithin is the longest time between two signs of an API server that takes writes: a single node renews every 10 s, and direct reads
// are at least as far apart.
const answersWithin = 15 * time.Second

// Answers are the signs that the API server takes writes: since when there is no gap between them, and the last one.
type Answers struct{ Since, Last time.Time }

// Note notes a sign.
func (a *Answers) Note(t time.Time) {
	if t.Sub(a.Last) > answersWithin {
		a.Since = t
	}
	if t.After(a.Last) {
		a.Last = t
	}
}
