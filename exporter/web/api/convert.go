package api

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Of returns the JSON representation of an incident. The duration of an ongoing incident ends at asOf.
func Of(cluster string, asOf time.Time, x *incident.Incident) Incident {
	a := Incident{
		ID: x.ID, Also: x.Also, Cluster: cluster, State: string(x.State), Start: x.Start.UTC(), End: TimeOrNull(x.End),
		DurationSeconds: x.Lasted(asOf).Seconds(), Cause: x.Cause.String(),
		Verdict: x.Verdict.String(), Considered: []Hypothesis{}, Command: x.Command, Withdrawn: x.Withdrawn, Scope: string(x.Scope),
		Namespace: x.Namespace, Subject: x.Subject, Summary: x.Summary, Remedy: x.Remedy, WaitsFor: x.WaitsFor,
		Nodes: append([]string{}, x.Nodes...), NodesLeftOut: x.NodesLeftOut, NodeTransitions: x.Turned, PodsEvicted: x.Evicted,
		Services: []Service{}, ServicesLeftOut: x.ServicesLeftOut,
		AddressesLost: x.Lost, AddressesBack: x.Bounces, Outages: x.Outages, OutageSeconds: x.OutageTime.Seconds(),
		Numbers: Numbers{
			GracePeriod: x.Numbers.GracePeriod.Seconds(), LongestInterval: x.Numbers.LongestInterval.Seconds(), LongestAtLeast: x.Numbers.LongestAtLeast,
			RecommendedGracePeriod: x.Numbers.RecommendedGracePeriod.Seconds(),
		},
		Evidence: []Evidence{}, EvidenceLeftOut: x.EvidenceLeftOut, Timeline: []Span{}, SpansLeftOut: x.SpansLeftOut,
	}
	if x.Verdict != verdict.Undecided && x.Withdrawn == "" {
		a.ToFix = advice.ToFix(x.Verdict)
	}
	for _, w := range x.Numbers.Windows {
		a.Numbers.Windows = append(a.Numbers.Windows, Window{w.Length.Seconds(), w.Bounces, w.StaleReadds})
	}
	for _, c := range x.Considered {
		a.Considered = append(a.Considered, Hypothesis{c.Verdict.String(), c.Holds.String(), c.Because})
	}
	for _, s := range x.Services {
		a.Services = append(a.Services, Service{s.Namespace, s.Name, s.Lost, s.Bounces, s.Outages, s.OutageTime.Seconds(), s.Down, s.Inexact})
	}
	for _, e := range x.Evidence {
		a.Evidence = append(a.Evidence, Evidence{e.Time.UTC(), e.Until.UTC(), e.Count, e.Text})
	}
	for _, s := range x.Timeline {
		a.Timeline = append(a.Timeline, Span{string(s.Track), s.Name, s.Start.UTC(), TimeOrNull(s.End)})
	}
	return a
}

// TimeOrNull returns the time in UTC, or nil for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
