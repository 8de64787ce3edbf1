package incident

import "time"

// Displaced counts the incidents that newer ones displaced, so that no list contains them.
type Displaced struct {
	Count int `json:"count"`
	// Until is the latest time at which one of the displaced incidents was known to be ongoing. After this time, the
	// lists are complete.
	Until time.Time `json:"until"`
}

// Add adds the displaced incidents in other.
func (d *Displaced) Add(other Displaced) {
	d.Count += other.Count
	if other.Until.After(d.Until) {
		d.Until = other.Until
	}
}

// Drop counts a displaced incident. If it has not ended, it was known to be ongoing at seen.
func (d *Displaced) Drop(x *Incident, seen time.Time) {
	until := x.End
	if until.IsZero() {
		until = seen
	}
	d.Add(Displaced{1, until})
}
