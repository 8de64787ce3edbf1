package api

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"1772366400": "2026-03-01T12:00:00Z", "1772366400.5": "2026-03-01T12:00:00.5Z", "1772366400.": "2026-03-01T12:00:00Z",
		"2026-03-01T12:00:00Z": "2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00": "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123Z": "2026-03-01T12:00:00.123Z",
		"2026-03-01T12:00": "2026-03-01T12:00:00Z", "2026-03-01T12:00:30": "2026-03-01T12:00:30Z",
	} {
		if got, err := ParseTime(text); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s is read as %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"now", "-1", "1e9", "0x10", ".5", "1.2.3", "NaN", "34359738368", "99999999999999999999", "1772366400.5s"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}

// TestTheFormKeepsTheInterval checks that the form rounds times outward to full seconds, so that submitting it again
// never shrinks the interval.
func TestTheFormKeepsTheInterval(t *testing.T) {
	q, err := ParseQuery("from=1772366400.7&to=1772366460.2")
	if err != nil {
		t.Fatal(err)
	}
	if from, to := q.FormFrom(), q.FormTo(); from != "2026-03-01T12:00:00" || to != "2026-03-01T12:01:01" {
		t.Errorf("from %s to %s", from, to)
	}
	if from, to := (&Query{}).FormFrom(), (&Query{}).FormTo(); from+to != "" {
		t.Errorf("from %q to %q, of none", from, to)
	}
}

func TestAnIDCanBeAbbreviated(t *testing.T) {
	x := &incident.Incident{ID: "aad890aafcf05867", Also: []string{"5433aabb00112233"}}
	for id, want := range map[string]bool{
		"aad890aafcf05867": true, "5433aabb00112233": true, "aad890aa": true, "aad890aaf": true, "5433aabb": true, "aad8": true,
		"aad": false, "": true, "aad890ab": false, "aad890aafcf05867-": false, "fcf05867": false,
	} {
		if got := (&Query{ID: id}).Matches(x); got != want {
			t.Errorf("the ID %q selects the incident: %t, want %t", id, got, want)
		}
	}
}
