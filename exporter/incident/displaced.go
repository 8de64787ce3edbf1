package incident

import "time"

// Displaced counts the incidents that were dropped from all lists to make room for newer ones.
type Displaced struct {
	Count int `json:"count"`
	// Until is the latest time at which one of the displaced incidents was ongoing. The lists contain all incidents
	// that began later.
	Until time.Time `json:"until"`
}

// Add combines d with the displaced incidents of another list.
func (d *Displaced) Add(other Displaced) {
	d.Count += other.Count
	if other.Until.After(d.Until) {
		d.Until = other.Until
	}
}

// Drop adds the displaced incident x to d. If x has no end, Drop uses `seen` instead: the last time at which x was
// known to be ongoing.
func (d *Displaced) Drop(x *Incident, seen time.Time) {
	until := x.End
	if until.IsZero() {
		until = seen
	}
	d.Add(Displaced{1, until})
}
