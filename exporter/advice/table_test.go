package advice

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// TestTheTableNeverContradictsTheRecommendation checks that silences of slow nodes turn no node Unknown with the
// recommended grace period or a longer one. Without a recommendation, this applies to the current grace period.
func TestTheTableNeverContradictsTheRecommendation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	recommended := 0
	for range 10_000 {
		g := GracePeriod{Period: time.Duration(20+random.IntN(200)) * time.Second, Default: 50 * time.Second, Interval: 10 * time.Second}
		var silences []controlplane.Silence
		for range random.IntN(5) {
			length := time.Duration(random.Int64N(int64(LongestGrace)))
			silences = append(silences, controlplane.Silence{Shortest: length, Longest: length})
			if length > g.LateThreshold() {
				g.Longest = max(g.Longest, length)
			}
		}
		to := g.Recommended()
		if to == 0 {
			to = g.Period
		} else {
			recommended++
		}
		for _, period := range []time.Duration{20, 30, 40, 50, 60, 80, 100, 120} {
			row := controlplane.RowOf(silences, period*time.Second, time.Duration(1+random.IntN(10))*time.Second)
			if row.GracePeriod >= to.Seconds() && row.Silences.AtLeast > 0 {
				t.Fatalf("%+v recommends %s, but with %g s, silences turn nodes Unknown: %s of %v", g, to, row.GracePeriod, row.Silences, silences)
			}
		}
	}
	if recommended < 1000 {
		t.Errorf("only %d recommendations", recommended)
	}
}

// TestNotesOnTheTable covers the notes that depend on the cluster.
func TestNotesOnTheTable(t *testing.T) {
	rows := make([]controlplane.Row, 8)
	for want, c := range map[string]struct {
		table controlplane.Table
		g     GracePeriod
	}{
		"kubeflap cannot see the heartbeats":              {controlplane.Table{}, GracePeriod{}},
		"Recommended grace period: 100s (currently 40s).": {controlplane.Table{Rows: rows}, GracePeriod{Period: 40 * time.Second, Longest: 50 * time.Second}},
		"kubeflap recommends no other grace period.":      {controlplane.Table{Rows: rows}, GracePeriod{Period: 40 * time.Second, Longest: 50 * time.Second, Managed: true}},
		"Grace periods below 20s are unsafe":              {controlplane.Table{Rows: rows}, GracePeriod{}},
		"Grace periods below 60s are unsafe":              {controlplane.Table{Rows: rows}, GracePeriod{Interval: 30 * time.Second}},
	} {
		if got := strings.Join(NotesOn(&c.table, c.g), "\n"); !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}
