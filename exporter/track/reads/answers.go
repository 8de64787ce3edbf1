package reads

import "time"

// answersWithin is the longest normal time between two signs that the API server accepts writes. Each node renews its
// Lease every 10 s, and direct reads are at least 10 s apart.
const answersWithin = 15 * time.Second

// Answers records signs that the API server accepts writes. Last is the time of the newest sign. Since is the end of
// the last gap longer than answersWithin.
type Answers struct{ Since, Last time.Time }

// Note records a sign at t that the API server accepts writes.
func (a *Answers) Note(t time.Time) {
	if t.Sub(a.Last) > answersWithin {
		a.Since = t
	}
	if t.After(a.Last) {
		a.Last = t
	}
}
