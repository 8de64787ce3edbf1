package incident

import "time"

// Displaced counts the incidents that were dropped from all lists to make room for newer ones.
type Displaced struct {
	Count int `json:"count"`
	// Until is the latest time at which one of the displaced incidents was ongoing. The lists are complete after this
	// time.
	Until time.Time `json:"until"`
}

// Add combines d with the displaced incidents of another list.
func (d *Displaced) Add(other Displaced) {
	d.Count += other.Count
	if other.Until.After(d.Until) {
		d.Until = other.Until
	}
}

// Drop counts a displaced incident. For an incident without an end, seen is the last time at which it was known to be
// ongoing.
func (d *Displaced) Drop(x *Incident, seen time.Time) {
	until := x.End
	if until.IsZero() {
		until = seen
	}
	d.Add(Displaced{1, until})
}
