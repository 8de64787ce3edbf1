package api

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Drawing is the timeline of an incident. Horizontal positions are percentages, and vertical positions are pixels, so
// that the drawing fits any screen without scaling its text.
type Drawing struct {
	// Bottom is the vertical position of the time labels.
	Height, Bottom int

	Rows []Row
	// Begin and End are the labels of the time axis below the bars.
	Begin, End string
	// Alt describes the drawing for readers who cannot see it.
	Alt string
}

// Row is a row of bars with a label above it. The label of a row without bars states how many more rows are not drawn.
type Row struct {
	Lane        incident.Track
	Label       string
	TextY, BarY int
	Bars        []Bar
	name        string
	spans       []span
	// limits is the duration if it is not known exactly.
	limits string
}

// Bar is an interval. Left and Wide are percentages of the drawing's width.
type Bar struct {
	Left, Wide float64
	Title      string
}

// X returns the x attribute of the bar in SVG.
func (b Bar) X() string { return percent(b.Left) }

// Width returns the width attribute of the bar in SVG.
func (b Bar) Width() string { return percent(b.Wide) }

type span struct{ from, to time.Time }

const (
	rowHeight = 30
	axis      = 22
	// maxRows is the maximum number of rows per lane. maxBars is the maximum number of bars per row.
	maxRows = 6
	maxBars = 40
)

var lanes = map[incident.Track]string{
	incident.TrackHeartbeat: "no heartbeat",
	incident.TrackNode:      "not Ready",
	incident.TrackPod:       "pod not Ready",
	incident.TrackConflict:  "selector conflict",
	incident.TrackForeign:   "foreign addresses",
	incident.TrackAddress:   "address out",
	incident.TrackBlind:     "not watched",
	incident.TrackOutage:    "no ready address",
}

// Draw returns an incident's timeline, or nil if the incident has none. A span without an end extends to the end of the
// incident or, for an ongoing incident, to the current time. Each kind of span, such as "not Ready", is a lane. A lane has
// a row for each name.
func Draw(x *incident.Incident) *Drawing {
	if len(x.Timeline) == 0 {
		return nil
	}
	from, until := x.Start, x.Start.Add(time.Duration(x.Duration))
	rows := rowsOf(x, until)
	for _, s := range x.Timeline {
		if s.Start.Before(from) {
			from = s.Start
		}
		if s.End.After(until) {
			until = s.End.Time
		}
	}
	if !until.After(from) {
		until = from.Add(time.Millisecond)
	}
	// Two bars are joined if the gap between them is at most this long.
	finest := until.Sub(from) / 400
	scale := func(t time.Time) float64 { return 100 * float64(t.Sub(from)) / float64(until.Sub(from)) }
	for i := range rows {
		rows[i].place(i, scale, finest)
	}
	label(rows)
	height := len(rows)*rowHeight + axis
	return &Drawing{Height: height, Bottom: height - 7, Rows: rows, Begin: phrase.Clock(from), End: "+" + phrase.Duration(until.Sub(from)), Alt: "Timeline: " + x.Summary}
}

// rowsOf returns a row for each lane and name, at most maxRows for each lane. The last rows count the others.
func rowsOf(x *incident.Incident, until time.Time) (rows []Row) {
	var all []Row
	for _, s := range x.Timeline {
		i := slices.IndexFunc(all, func(r Row) bool { return r.Lane == s.Track && r.name == s.Name })
		if i < 0 {
			i = len(all)
			all = append(all, Row{Lane: s.Track, name: s.Name, limits: limitsOf(x, s)})
		}
		all[i].spans = append(all[i].spans, span{s.Start, cmp.Or(s.End.Time, until)})
	}
	perLane := map[incident.Track]int{}
	var full []incident.Track
	for _, r := range all {
		perLane[r.Lane]++
		switch n := perLane[r.Lane]; {
		case n <= maxRows:
			rows = append(rows, r)
		case n == maxRows+1:
			full = append(full, r.Lane)
		}
	}
	for _, lane := range full {
		rows = append(rows, Row{Lane: lane, Label: fmt.Sprintf("%s: %d more not drawn", lanes[lane], perLane[lane]-maxRows)})
	}
	return rows
}

// limitsOf returns the duration of a Service's outages if it is not known exactly.
func limitsOf(x *incident.Incident, s incident.Span) string {
	i := slices.IndexFunc(x.Services, func(e incident.Service) bool { return e.String() == s.Name && e.AtMost > 0 })
	if i < 0 || s.Track != incident.TrackOutage {
		return ""
	}
	return x.Services[i].DownFor()
}

// place computes the bars and the label of row i. The label does not include the row's name yet. Overlapping spans
// share a bar.
func (r *Row) place(i int, scale func(time.Time) float64, finest time.Duration) {
	r.TextY, r.BarY = i*rowHeight+13, i*rowHeight+18
	if len(r.spans) == 0 {
		return
	}
	for n, s := range union(r.spans, finest) {
		if n == maxBars {
			break
		}
		at, wide := scale(s.from), scale(s.to)-scale(s.from)
		// Even a brief span must be visible.
		wide = max(wide, 0.6)
		at = min(at, 100-wide)
		b := Bar{Left: at, Wide: wide}
		b.Title = r.name + ": " + phrase.Clock(s.from) + ", " + cmp.Or(r.limits, r.lasted(r.within(s)))
		r.Bars = append(r.Bars, b)
	}
	all := r.spans
	if r.Lane != incident.TrackHeartbeat {
		all = union(all, 0)
	}
	r.Label = lanes[r.Lane] + " " + cmp.Or(r.limits, r.lasted(all))
	if times := phrase.Times(len(all)); r.room()-len(times) >= minName {
		r.Label += times
	}
}

// within returns the row's spans in a bar.
func (r *Row) within(bar span) (all []span) {
	for _, s := range r.spans {
		if !s.from.Before(bar.from) && !s.to.After(bar.to) {
			all = append(all, s)
		}
	}
	return all
}

// lasted says how long some of the row's spans lasted together. Each heartbeat ends a silence, so of several silences it names
// the longest.
func (r *Row) lasted(spans []span) string {
	var total, longest time.Duration
	for _, s := range union(spans, 0) {
		total += s.to.Sub(s.from)
	}
	if r.Lane != incident.TrackHeartbeat || len(spans) == 1 {
		return phrase.Duration(total)
	}
	for _, s := range spans {
		longest = max(longest, s.to.Sub(s.from))
	}
	return "up to " + phrase.Duration(longest)
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) + "%" }

// union joins neighboring spans if the time between them is at most `gap`.
func union(spans []span, gap time.Duration) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var all []span
	for _, s := range spans {
		if n := len(all); n > 0 && !s.from.After(all[n-1].to.Add(gap)) {
			if s.to.After(all[n-1].to) {
				all[n-1].to = s.to
			}
			continue
		}
		all = append(all, s)
	}
	return all
}
