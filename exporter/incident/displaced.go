package incident

import "time"

// Displaced counts the incidents that newer ones displaced. No list contains displaced incidents.
type Displaced struct {
	Count int `json:"count"`
	// Until is the latest time at which one of the displaced incidents was known to be ongoing. After this time, the
	// lists are complete.
	Until time.Time `json:"until"`
}

// Add adds the counts of the parameter other.
func (d *Displaced) Add(other Displaced) {
	d.Count += other.Count
	if other.Until.After(d.Until) {
		d.Until = other.Until
	}
}

// Drop counts a displaced incident. If the incident has not ended, the parameter seen is the last time at which the
// incident was known to be ongoing.
func (d *Displaced) Drop(x *Incident, seen time.Time) {
	until := x.End
	if until.IsZero() {
		until = seen
	}
	d.Add(Displaced{1, until})
}
