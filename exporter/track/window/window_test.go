package window

import (
	"testing"
	"time"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestIntervalsThatNobodyAsksForTakeNoMoreRoom(t *testing.T) {
	var w Window
	for i := range 1000 {
		w.Add(zero.Add(time.Duration(10*i)*time.Second), time.Hour-time.Duration(i)*time.Second)
	}
	if len(w.samples) != 61 {
		t.Errorf("%d samples of ten minutes, want 61", len(w.samples))
	}
}
