package upgrades

import (
	"testing"
	"time"
)

func TestUpgradesAreForgotten(t *testing.T) {
	u, start := &Upgrades{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 1000 {
		u.Note([]string{"node-1", "node-2"}[i%2], start.Add(time.Duration(i)*time.Minute))
	}
	if len(u.all) != 121 || len(u.byNode["node-1"])+len(u.byNode["node-2"]) != 121 {
		t.Errorf("%d and %d are kept", len(u.all), len(u.byNode["node-1"])+len(u.byNode["node-2"]))
	}
	u.Note("node-3", start.Add(48*time.Hour))
	if len(u.all) != 1 || len(u.byNode) != 1 {
		t.Errorf("two days later: %v", u.byNode)
	}
}
