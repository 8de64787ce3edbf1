package postmortem

import (
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// whatIf is the part of a report that predicts the effects of other settings. If there is no prediction, Text says why,
// and Table is empty.
type whatIf struct {
	Text      string
	Table     answer.Table
	Notes     []string
	CannotSay []string
}

// whatIfOf returns the predictions for other settings, or the reason why there are none.
func whatIfOf(in *Input) (w whatIf) {
	a := in.WhatIf
	switch {
	case a == nil:
		w.Text = sentence("There is no prediction for other settings: " + in.NoWhatIf)
		return w
	case a.NoPrediction != "":
		w.Text = sentence("There is no prediction for other settings: " + a.NoPrediction)
		return w
	}
	span := moment(a.From) + " to " + moment(a.To) + " UTC"
	if !a.Depends() {
		w.Text = "In the recording from " + span + ", no silence was long enough for another grace period to make a difference."
		return w
	}
	w.Table, w.CannotSay = a.Table(), a.CannotSay
	if warning := a.Contradiction(); warning != "" {
		w.Notes = append(w.Notes, warning)
	}
	if knee := a.KneeText(); knee != "" {
		w.Notes = append(w.Notes, knee+" The table shows effects, not causes. First follow the remedy of each incident.")
		if in.Advice != nil && in.Advice.Heartbeats.Recommended > 0 {
			w.Notes = append(w.Notes, "The knee fits the silences in this recording. The recommended grace period, "+seconds(in.Advice.Heartbeats.Recommended)+
				", also leaves a margin for silences that the recording does not contain.")
		}
	}
	w.Notes = append(w.Notes, "The table counts all nodes and Services from "+span+", including those without an incident. "+answer.Note)
	return w
}
