package web

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// coverageOf returns the coverage of the clusters that a query selects, in the query's period.
func coverageOf(clusters []Cluster, q *query.Query) api.Coverage {
	a := api.Coverage{NotWatched: []api.NotWatched{}, Gaps: []api.Gap{}}
	var dropped incident.Displaced
	for _, c := range clusters {
		if !q.MatchesCluster(c.Name) {
			continue
		}
		dropped.Add(c.Displaced())
		if c.LostUntil != nil {
			if lost := c.LostUntil(); a.IncidentsLostUntil == nil || lost.After(*a.IncidentsLostUntil) {
				a.IncidentsLostUntil = api.TimeOrNull(lost)
			}
		}
		s := c.Coverage()
		if a.Since == nil || s.Since.After(*a.Since) {
			a.Since = api.TimeOrNull(s.Since)
		}
		if a.Started == nil || c.Started.After(*a.Started) {
			a.Started = api.TimeOrNull(c.Started)
		}
		for _, w := range s.NotWatched {
			a.NotWatched = append(a.NotWatched, api.NotWatched{Cluster: c.Name, Resource: w.Resource.String(), Since: api.TimeOrNull(w.Since), Reason: string(w.Reason)})
		}
		a.GapsLeftOut += s.LeftOut
		for _, g := range s.Within(q.From, q.To) {
			a.Gaps = append(a.Gaps, api.Gap{
				Cluster: c.Name, Resources: g.Resources, From: g.From.UTC(), To: api.TimeOrNull(g.To), Reason: string(g.Reason), MayMiss: g.Missed(),
			})
		}
		if c.Recorder != nil {
			a.Recorder = recorderOf(c.Recorder())
		}
	}
	a.IncidentsDropped, a.IncidentsDroppedUntil = dropped.Count, api.TimeOrNull(dropped.Until)
	return a
}

// gracePeriodsOf returns the tables of the clusters that a query selects.
func gracePeriodsOf(clusters []Cluster, q *query.Query) (all []grace.Table) {
	for _, c := range clusters {
		if q.MatchesCluster(c.Name) {
			all = append(all, c.GracePeriods())
		}
	}
	return all
}

func recorderOf(s flightrecorder.Status) *api.Recorder {
	r := &api.Recorder{Recording: s.Recording, Since: api.TimeOrNull(s.Since), Oldest: api.TimeOrNull(s.Oldest), EventsLost: s.Lost, Gaps: s.Gaps}
	if s.Err != nil {
		r.Reason = s.Err.Error()
	}
	return r
}

// maxGapRows is the maximum number of gaps that the page shows.
const maxGapRows = 20

// coverageView holds the page's data about coverage.
type coverageView struct {
	// Since is empty if nothing has been watched yet. Restarted is set if the coverage began in an earlier process.
	Since     string
	Restarted bool
	// Before is set if the page's period begins before kubeflap started to watch. Future is set if the page's period
	// has not begun.
	Before, Future bool
	// Gaps holds the newest gaps of the period, newest first. Hidden is the number of older gaps, which the page omits.
	// LeftOut is the number of gaps that kubeflap has dropped.
	Gaps            []gapRow
	Hidden, LeftOut int
	// Dropped is a text with the number of dropped incidents, or empty if there are none. DroppedUntil is the latest
	// time at which one of them was known to be ongoing. Incomplete is set if dropped incidents may belong to the
	// page's period.
	Dropped, DroppedUntil string
	Incomplete            bool
	// LostUntil is the time until which incidents of earlier processes may be missing because a file was damaged. It is
	// empty if no incidents are missing. Lost is set if missing incidents may belong to the page's period.
	LostUntil string
	Lost      bool
	// NotRecording is the reason why events are not recorded. NotRecordingSince is the time at which the recording
	// stopped. Both are empty if events are recorded, or if there is no flight recorder. Unrecorded is the number of
	// events that were not recorded.
	NotRecording, NotRecordingSince string
	Unrecorded                      uint64
}

type gapRow struct{ Resources, Cluster, From, To, For, Reason, Missed string }

func coverageViewOf(a *api.Coverage, q *query.Query, asOf time.Time) coverageView {
	view := coverageView{LeftOut: a.GapsLeftOut, Before: a.Since != nil && !q.From.IsZero() && q.From.Before(*a.Since)}
	view.Future = q.From.After(asOf)
	if a.Since != nil {
		view.Since = moment(*a.Since)
		view.Restarted = a.Started != nil && a.Started.After(*a.Since)
	}
	if until := a.IncidentsDroppedUntil; until != nil {
		view.Dropped, view.DroppedUntil = phrase.Count(a.IncidentsDropped, "older incident was", "older incidents were")+" dropped", moment(*until)
		view.Incomplete = !q.From.After(*until)
	}
	if until := a.IncidentsLostUntil; until != nil {
		view.LostUntil, view.Lost = moment(*until), !q.From.After(*until)
	}
	if r := a.Recorder; r != nil {
		view.Unrecorded = r.EventsLost
		if view.NotRecording = r.Reason; r.Reason != "" && r.Since != nil {
			view.NotRecordingSince = moment(*r.Since)
		}
	}
	slices.SortStableFunc(a.Gaps, func(x, y api.Gap) int { return y.From.Compare(x.From) })
	for _, g := range a.Gaps {
		row := gapRow{Resources: strings.Join(g.Resources, ", "), Cluster: g.Cluster, From: moment(g.From), Reason: g.Reason, Missed: g.MayMiss}
		if g.To != nil {
			row.To, row.For = moment(*g.To), length(g.To.Sub(g.From))
		} else {
			row.For = length(asOf.Sub(g.From))
		}
		view.Gaps = append(view.Gaps, row)
	}
	if view.Hidden = len(view.Gaps) - maxGapRows; view.Hidden > 0 {
		view.Gaps = view.Gaps[:maxGapRows]
	}
	view.Hidden = max(view.Hidden, 0)
	return view
}
