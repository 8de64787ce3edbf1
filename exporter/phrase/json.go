package phrase

import (
	"encoding/json"
	"math"
	"time"
)

// Seconds is a duration that JSON documents contain as a number of seconds.
type Seconds time.Duration

// String formats the duration for a sentence.
func (s Seconds) String() string { return Duration(time.Duration(s)) }

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Seconds()) //nolint:wrapcheck // a number has no errors
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	var n float64
	err := json.Unmarshal(text, &n)
	*s = Seconds(math.Round(n * float64(time.Second)))
	return err //nolint:wrapcheck // package json adds the name of the field
}

// Time is a time that JSON documents contain in UTC, or as null if it is zero.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().MarshalJSON() //nolint:wrapcheck // the error says what failed
}
