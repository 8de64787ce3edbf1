package ledger

import "time"

// Quiet is the time for which everything must stay recovered before an incident ends. A new failure within this time
// belongs to the same incident.
const Quiet = 2 * time.Minute

// HasEndedBy reports whether the incident had ended for good by t.
func (r *Record) HasEndedBy(t time.Time) bool {
	return r.Settled || r.WasQuietUntil(t)
}

// WasQuietUntil reports whether the incident has recovered, and nothing has happened since for longer than Quiet.
func (r *Record) WasQuietUntil(t time.Time) bool {
	return !r.recovered.IsZero() && t.Sub(r.recovered) > Quiet
}
