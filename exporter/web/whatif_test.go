package web

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// TestAPageWithoutPredictions checks that the page shows the reason instead of a table.
func TestAPageWithoutPredictions(t *testing.T) {
	for want, given := range map[string]background.Prediction{
		"No prediction: it is being computed":                     {Because: "it is being computed"},
		"No prediction: the recording has no heartbeats of nodes": {Answer: &answer.Answer{NoPrediction: "the recording has no heartbeats of nodes"}},
	} {
		if got := viewOfPrediction(given); got.Text != want || len(got.Table.Rows) > 0 {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
