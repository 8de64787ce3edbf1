package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Unwatched returns a sentence about the resources that are not watched, if there are any.
func (c *Coverage) Unwatched() []string {
	if len(c.NotWatched) == 0 {
		return nil
	}
	return []string{"kubeflap does not watch " + Unwatched(c.NotWatched) + ", so incidents may be missing."}
}

// Unwatched lists resources that are not watched, with the start and the reason. Resources with the same start and the
// same reason are listed together.
func Unwatched(all []NotWatched) string {
	var groups, texts []string
	resources := map[string][]string{}
	for _, x := range all {
		about := InCluster(x.Cluster)
		if !x.Since.IsZero() {
			about += " since " + phrase.Moment(x.Since.Time)
		}
		about += " (" + x.Reason + ")"
		if resources[about] == nil {
			groups = append(groups, about)
		}
		resources[about] = append(resources[about], x.Resource)
	}
	for _, about := range groups {
		texts = append(texts, strings.Join(resources[about], ", ")+about)
	}
	return strings.Join(texts, "; ")
}

// shownGaps is the maximum number of gaps that are described. More of them hide the rest of a page.
const shownGaps = 20

// Texts describes when kubeflap watched a number of clusters: a sentence, and one for each of the newest gaps, newest first.
// Several clusters have no common beginning, so that the first sentence is left out.
func (c *Coverage) Texts(clusters int) (all []string) {
	if clusters <= 1 {
		all = append(all, c.watched())
	}
	gaps := slices.Clone(c.Gaps)
	slices.SortStableFunc(gaps, func(a, b Gap) int { return b.From.Compare(a.From) })
	for _, g := range gaps[:min(len(gaps), shownGaps)] {
		all = append(all, g.String())
	}
	if more := len(gaps) - shownGaps; more > 0 {
		all = append(all, "Only the JSON document lists "+phrase.Count(more, "earlier gap", "earlier gaps")+".")
	}
	return all
}

// watched says since when kubeflap watched the only cluster.
func (c *Coverage) watched() string {
	if c.Since.IsZero() {
		return "It is unknown since when kubeflap watched the cluster."
	}
	text := "Watched since " + phrase.Moment(c.Since.Time) + ", without a gap."
	if len(c.Gaps) > 0 {
		text = "Watched since " + phrase.Moment(c.Since.Time) + ", with gaps."
	}
	if !c.Started.After(c.Since.Time) { // no earlier process watched
		text += " Earlier changes are unknown."
	}
	return text
}

// String describes the gap.
func (g *Gap) String() string {
	period := " since " + phrase.Moment(g.From)
	if !g.To.IsZero() {
		period = fmt.Sprintf(" from %s to %s, for %s", phrase.Moment(g.From), phrase.Moment(g.To.Time), phrase.Duration(g.To.Sub(g.From)))
	}
	return "Not watched: " + strings.Join(g.Resources, ", ") + InCluster(g.Cluster) + period + " (" + g.Reason + "). May miss: " + g.MayMiss + "."
}

// Missing returns a sentence for each reason why incidents that were ongoing at `from` or later may be missing. A zero
// time means all incidents.
func (c *Coverage) Missing(from time.Time) (all []string) {
	if until := c.IncidentsLostUntil.Time; !until.IsZero() && !from.After(until) {
		all = append(all, "Incidents until "+phrase.Moment(until)+" may be missing, because kubeflap's file incidents.jsonl was damaged, deleted or unreadable. "+
			"To see what was recorded, run kubeflap incidents with its --data.dir directory.")
	}
	if until := c.DroppedUntil.Time; !until.IsZero() && !from.After(until) {
		all = append(all, "kubeflap has dropped "+phrase.Count(c.Dropped, "older incident", "older incidents")+
			" (--incidents.size). All incidents that were ongoing after "+phrase.Moment(until)+" are kept.")
	}
	return all
}

// InCluster returns a suffix that names a cluster. It is empty if there is only one, which has no name.
func InCluster(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " in " + cluster
}
