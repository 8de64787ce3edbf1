package web

import (
	"strings"
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

// TestAPageWarnsAboutAnotherGracePeriod checks that the page mentions a specified grace period that the recording
// contradicts.
func TestAPageWarnsAboutAnotherGracePeriod(t *testing.T) {
	rows := []answer.Row{{GracePeriodSeconds: 40, Transitions: []answer.Transition{{Predicted: answer.Yes}}}}
	given := &answer.Answer{Settings: rows, Recorded: answer.Recorded{GracePeriodSeconds: 40, ManagerGracePeriodSeconds: 24}}
	if got := viewOfPrediction(background.Prediction{Answer: given}).Note; !strings.HasPrefix(got, "Warning: the grace period was specified as 40s,") {
		t.Error(got)
	}
}
