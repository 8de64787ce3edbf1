package web

import (
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// whatIfView holds predictions of how an incident would have gone with other settings. If there is no prediction, Table
// has no rows, and Text gives the reason.
type whatIfView struct {
	Text string
	// From and To are the start and the end of the recorded period.
	From, To  string
	Table     answer.Table
	Knee      string
	Note      string
	CannotSay []string
}

// whatIfOf returns the predictions for an incident. It returns nil if nothing is recorded, or if the incident does not
// involve nodes. The settings only affect incidents that involve nodes.
func whatIfOf(x *clusterIncident) *whatIfView {
	if x.cluster.WhatIf == nil || len(x.Nodes) == 0 || x.Scope == incident.ScopeWorkload || x.Scope == incident.ScopeService {
		return nil
	}
	return viewOfPrediction(x.cluster.WhatIf(x.Incident, x.asOf))
}

func viewOfPrediction(p background.Prediction) *whatIfView {
	a := p.Answer
	switch {
	case a == nil:
		return &whatIfView{Text: phrase.Sentence("no prediction: " + p.Because)}
	case a.NoPrediction != "":
		return &whatIfView{Text: phrase.Sentence("no prediction: " + a.NoPrediction)}
	}
	v := &whatIfView{From: moment(a.From), To: timeAfter(a.From, a.To)}
	if !a.Depends() {
		v.Text = "No silence was long enough for another grace period to make a difference"
		return v
	}
	v.Table, v.Knee, v.Note, v.CannotSay = a.Table(), a.KneeText(), answer.Note, a.CannotSay
	if warning := a.Contradiction(); warning != "" {
		v.Note = warning + " " + v.Note
	}
	return v
}
