package postmortem

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// tolerance is the maximum length of a gap that the report ignores if the gap is at the start or the end of the period.
const tolerance = time.Second

// gaps returns the gaps that overlap the period, ordered by time. A gap is a time in which kubeflap did not watch a
// resource. A running kubeflap keeps only its newest gaps.
func gaps(in *Input) (all []api.Gap) {
	c := &in.Answer.Coverage
	for _, g := range c.Gaps {
		if (g.To == nil || !g.To.Before(in.From)) && !g.From.After(in.To) {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Gap) int {
		return cmp.Or(a.From.Compare(b.From), slices.Compare(a.Resources, b.Resources))
	})
	return all
}

// missingReasons returns the reasons why incidents of the period may be missing.
func missingReasons(in *Input) (lacks []string) {
	c := &in.Answer.Coverage
	if r := in.Source.Recording; r != nil && r.Damage != "" {
		lacks = append(lacks, "the recording is damaged and could only be read until "+moment(in.Answer.AsOf)+" UTC")
	}
	if c.Since != nil && !in.From.IsZero() && c.Since.Sub(in.From) > tolerance {
		lacks = append(lacks, "kubeflap began to watch at "+moment(*c.Since)+" UTC and saw nothing before")
	}
	if in.To.Sub(in.Answer.AsOf) > tolerance {
		lacks = append(lacks, "kubeflap saw nothing after "+moment(in.Answer.AsOf)+" UTC")
	}
	if n := len(gaps(in)); n > 0 {
		lacks = append(lacks, phrase.Count(n, "gap", "gaps")+" in which kubeflap did not watch some resources (listed below)")
	}
	if c.GapsLeftOut > 0 {
		lacks = append(lacks, phrase.Count(c.GapsLeftOut, "older gap was", "older gaps were")+" not kept")
	}
	if until := c.IncidentsDroppedUntil; until != nil && !in.From.After(*until) {
		lacks = append(lacks, phrase.Count(c.IncidentsDropped, "older incident that lasted until "+moment(*until)+" UTC at the latest was", "older incidents that lasted until "+moment(*until)+" UTC at the latest were")+" dropped (--incidents.size)")
	}
	if until := lostIn(in); until != nil {
		lacks = append(lacks, "incidents until "+moment(*until)+" UTC were lost, because incidents.jsonl was damaged, deleted or unreadable (kubeflap report --recording on the --data.dir directory may show them)")
	}
	return lacks
}

// lostIn returns IncidentsLostUntil, or nil if that time is before the period.
func lostIn(in *Input) *time.Time {
	until := in.Answer.Coverage.IncidentsLostUntil
	if until == nil || in.From.After(*until) {
		return nil
	}
	return until
}

// coverageText states whether kubeflap watched during the whole period.
func coverageText(in *Input) string {
	c := &in.Answer.Coverage
	switch lacks := missingReasons(in); {
	case len(lacks) > 0:
		return "kubeflap did not see everything in this period: " + strings.Join(lacks, "; ") + ". Incidents may be missing."
	case c.Since == nil:
		return "It is unknown whether kubeflap watched for the whole period, so incidents may be missing."
	case in.From.IsZero():
		return "kubeflap has watched all resources since " + moment(*c.Since) + " UTC."
	}
	return "kubeflap watched all resources for the whole period."
}

// maxGaps is the maximum number of rows in the table of gaps.
const maxGaps = 200

func (d *document) addGaps(in *Input) {
	all := gaps(in)
	if len(all) > maxGaps {
		all, d.GapsLeftOut = all[:maxGaps], len(all)-maxGaps
	}
	for _, g := range all {
		row := gapRow{Resources: strings.Join(g.Resources, ", "), From: "unknown", To: "the end", Lasted: "unknown", Reason: g.Reason, MayMiss: g.MayMiss}
		to := in.Answer.AsOf
		if g.To != nil {
			to, row.To = *g.To, moment(*g.To)
		}
		if !g.From.IsZero() {
			row.From, row.Lasted = moment(g.From), phrase.Duration(max(to.Sub(g.From), 0))
		}
		d.Gaps = append(d.Gaps, row)
	}
}
