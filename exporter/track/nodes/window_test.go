package nodes

import (
	"testing"
	"time"
)

func TestIntervalsThatNobodyAsksForTakeNoMoreRoom(t *testing.T) {
	var w window
	for i := range 1000 {
		w.add(zero.Add(time.Duration(10*i)*time.Second), time.Hour-time.Duration(i)*time.Second)
	}
	if len(w.samples) != 61 {
		t.Errorf("%d samples of ten minutes, want 61", len(w.samples))
	}
}
