package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCoincidencesAreAdded lets 100 nodes fall silent independently, each as often as the others, for a long time. Silences
// near others are not counted, and the correction must find how often the nodes really fell silent.
func TestCoincidencesAreAdded(t *testing.T) {
	const hours, window = 2000.0, 23.0 / 3600
	random := rand.New(rand.NewPCG(1, 2))
	for _, perHour := range []float64{0.01, 0.1, 0.5} {
		var began []float64
		for range 100 {
			for at := random.ExpFloat64() / perHour; at < hours; at += random.ExpFloat64() / perHour {
				began = append(began, at)
			}
		}
		slices.Sort(began)
		alone := 0.0
		for i, at := range began {
			if (i == 0 || at-began[i-1] > window/2) && (i == len(began)-1 || began[i+1]-at > window/2) {
				alone++
			}
		}
		x := ownRates{nodes: map[string]ownRate{"all": {perHour: alone / hours}}}
		x.addCoincidences(window, alone/hours)
		want := float64(len(began)) / hours
		if got := x.nodes["all"].perHour; math.Abs(got/want-1) > 0.03 {
			t.Errorf("%.2f silences per hour, %.2f of them alone: the correction gives %.2f", want, alone/hours, got)
		}
	}
}
