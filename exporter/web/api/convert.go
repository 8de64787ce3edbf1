package api

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Of returns the JSON representation of an incident. The duration of an ongoing incident ends at asOf.
func Of(cluster string, asOf time.Time, x *incident.Incident) Incident {
	a := Incident{
		ID: x.ID, Also: x.Also, Cluster: cluster, State: string(x.State), Start: x.Start.UTC(), End: TimeOrNull(x.End),
		DurationSeconds: x.Lasted(asOf).Seconds(), Cause: x.Cause.String(),
		Verdict: x.Verdict.String(), VerdictText: x.Words(), Considered: []Hypothesis{}, Command: x.Command, Withdrawn: x.Withdrawn, Scope: string(x.Scope),
		Namespace: x.Namespace, Subject: x.Subject, Summary: x.Summary, Remedy: x.Remedy, WaitsFor: x.WaitsFor,
		Nodes: append([]string{}, x.Nodes...), NodesLeftOut: x.NodesLeftOut, NodeTransitions: x.Turned, PodsEvicted: x.Evicted,
		Services: []Service{}, ServicesLeftOut: x.ServicesLeftOut,
		AddressesLost: x.Lost, AddressesBack: x.Bounces, Outages: x.Outages, OutageSeconds: x.OutageTime.Seconds(),
		Numbers: Numbers{
			GracePeriod: x.Numbers.GracePeriod.Seconds(), LongestInterval: x.Numbers.LongestInterval.Seconds(), LongestAtLeast: x.Numbers.LongestAtLeast,
			RecommendedGracePeriod: x.Numbers.RecommendedGracePeriod.Seconds(),
		},
		Evidence: append([]incident.Evidence{}, x.Evidence...), EvidenceLeftOut: x.EvidenceLeftOut, Timeline: []Span{}, SpansLeftOut: x.SpansLeftOut,
	}
	if x.Withdrawn != "" {
		a.State, a.VerdictText = stateWithdrawn, "nothing is wrong"
	}
	a.firstStep()
	for _, w := range x.Numbers.Windows {
		a.Numbers.Windows = append(a.Numbers.Windows, Window{w.Length.Seconds(), w.Bounces, w.StaleReadds})
	}
	for _, c := range x.Considered {
		a.Considered = append(a.Considered, Hypothesis{c.Verdict.String(), c.Holds.String(), c.Because})
	}
	for _, s := range x.Services {
		y := Service{Namespace: s.Namespace, Service: s.Name, AddressesLost: s.Lost, AddressesBack: s.Bounces, Outages: s.Outages, OutageSeconds: s.OutageTime.Seconds(), Down: s.Down}
		if s.AtLeast != s.AtMost {
			y.OutageAtLeast, y.OutageAtMost = s.AtLeast.Seconds(), s.AtMost.Seconds()
		}
		if i := slices.IndexFunc(s.Classes[:], func(n int) bool { return n > 0 }); i >= 0 {
			y.OutageClass = cause.Class(i).String()
		}
		a.Services = append(a.Services, y)
	}
	for _, s := range x.Timeline {
		a.Timeline = append(a.Timeline, Span{string(s.Track), s.Name, s.Start.UTC(), TimeOrNull(s.End)})
	}
	return a
}

// stateWithdrawn is the state of an incident that was withdrawn.
const stateWithdrawn = "withdrawn"

// commandOf finds the command in a first step.
var commandOf = regexp.MustCompile(` \((kubectl [^()]*)\)`)

// firstStep takes the first step and its command from the remedy.
func (x *Incident) firstStep() {
	x.FirstStep, _ = phrase.FirstSentence(x.Remedy)
	if found := commandOf.FindStringSubmatch(x.FirstStep); x.Command == "" && found != nil {
		x.Command = found[1]
	}
	x.FirstStep = strings.Replace(x.FirstStep, " ("+x.Command+")", "", 1)
}

// TimeOrNull returns the time in UTC, or nil for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
