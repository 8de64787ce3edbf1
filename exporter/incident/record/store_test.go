package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestManyRolloutsAtOnceAreBounded(t *testing.T) {
	s := NewStore(10)
	for i := range 2 * maxHarmless {
		now := zero.Add(time.Duration(i) * time.Millisecond)
		r := s.Begin(Subject{Kind: KindWorkload, Name: fmt.Sprintf("StatefulSet/web-%d", i), Cause: cause.PodDeleted}, now, 0)
		s.Touch(r, now)
	}
	if s.harmless > maxHarmless || s.harmless != len(s.active) {
		t.Errorf("%d look harmless and %d are active, want at most %d", s.harmless, len(s.active), maxHarmless)
	}
	s.Timers.Run(zero.Add(time.Hour), s.Advance)
	if s.harmless+len(s.active)+len(s.shown) > 0 {
		t.Errorf("left: %d, %d, %d", s.harmless, len(s.active), len(s.shown))
	}
}
