package web

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// timeline is the drawing of an incident. Positions are in percent of its width and in pixels of its height: it
// fits any screen, and its text keeps its size.
type timeline struct {
	// Bottom is the position of the times.
	Height, Bottom int

	Rows  []timelineRow
	Ticks []tick
	Alt   string
}

type timelineRow struct {
	Lane, Label string
	TextY, BarY int
	Bars        []bar
	lane        incident.Track
	name        string
	spans       []span
	more        int
}

type bar struct{ X, Width, Title string }

type tick struct{ X, Anchor, Text string }

type span struct{ from, to time.Time }

const (
	rowHeight = 30
	axis      = 22
	// maxRows bounds the rows of a lane, maxBars the bars of a row.
	maxRows = 6
	maxBars = 40
)

func laneText(l incident.Track) string {
	switch l {
	case incident.TrackHeartbeat:
		return "no heartbeat"
	case incident.TrackNode:
		return "not Ready"
	case incident.TrackPod:
		return "pod not Ready"
	case incident.TrackConflict:
		return "selector conflict"
	case incident.TrackForeign:
		return "foreign addresses"
	case incident.TrackAddress:
		return "address out"
	}
	return "no ready address"
}

// draw draws an incident. In a list each lane has one row, else each name.
func draw(x *found, inList bool) *timeline {
	if len(x.Timeline) == 0 {
		return nil
	}
	until := x.End
	if until.IsZero() {
		until = x.asOf
	}
	from := x.Start
	rows := rowsOf(x.Timeline, inList, until)
	for _, s := range x.Timeline {
		if s.Start.Before(from) {
			from = s.Start
		}
		if s.End.After(until) {
			until = s.End
		}
	}
	if !until.After(from) {
		until = from.Add(time.Millisecond)
	}
	// Bars that are closer than finest are joined.
	finest := until.Sub(from) / 400
	if inList {
		finest = until.Sub(from) / 50
	}
	scale := func(t time.Time) float64 { return 100 * float64(t.Sub(from)) / float64(until.Sub(from)) }
	t := &timeline{Height: len(rows)*rowHeight + axis, Bottom: len(rows)*rowHeight + axis - 7, Alt: "Timeline: " + x.Summary}
	for i := range rows {
		rows[i].place(i, scale, finest)
	}
	t.Rows = rows
	t.Ticks = []tick{
		{"0%", "start", clock(from)},
		{"100%", "end", "+" + length(until.Sub(from))},
	}
	return t
}

func rowsOf(spans []incident.Span, inList bool, until time.Time) []timelineRow {
	var rows []timelineRow
	perLane := map[incident.Track]int{}
	for _, s := range spans {
		name := s.Name
		if inList {
			name = ""
		}
		i := slices.IndexFunc(rows, func(r timelineRow) bool { return r.lane == s.Track && r.name == name })
		if i < 0 {
			if perLane[s.Track] == maxRows {
				rows[len(rows)-1].more++
				continue
			}
			perLane[s.Track]++
			i = len(rows)
			rows = append(rows, timelineRow{Lane: string(s.Track), lane: s.Track, name: name})
		}
		to := s.End
		if to.IsZero() {
			to = until
		}
		rows[i].spans = append(rows[i].spans, span{s.Start, to})
	}
	return rows
}

// place computes the bars and the label of row i. Overlapping spans are one bar.
func (r *timelineRow) place(i int, scale func(time.Time) float64, finest time.Duration) {
	r.TextY, r.BarY = i*rowHeight+13, i*rowHeight+18
	merged := union(r.spans, 0)
	var total time.Duration
	for _, s := range merged {
		total += s.to.Sub(s.from)
	}
	for n, s := range union(r.spans, finest) {
		if n == maxBars {
			break
		}
		at, wide := scale(s.from), scale(s.to)-scale(s.from)
		// A brief span must be visible, too.
		wide = max(wide, 0.6)
		at = min(at, 100-wide)
		b := bar{X: percent(at), Width: percent(wide)}
		if r.name != "" {
			b.Title = r.name + ": " + clock(s.from) + ", " + length(s.to.Sub(s.from))
		}
		r.Bars = append(r.Bars, b)
	}
	r.Label = laneText(r.lane) + " " + length(total)
	if len(merged) > 1 {
		r.Label += fmt.Sprintf(", %d times", len(merged))
	}
	if r.more > 0 {
		r.Label += fmt.Sprintf(" (%d more not drawn)", r.more)
	}
	if r.name != "" {
		r.Label = shorten(r.name, maxLabel-len(r.Label)) + ": " + r.Label
	}
}

// maxLabel is how many letters of a label fit on a phone.
const maxLabel = 42

// shorten keeps the end of a name that is too long: names differ at the end.
func shorten(name string, most int) string {
	letters := []rune(name)
	most = max(most, 8)
	if len(letters) <= most {
		return name
	}
	return "…" + string(letters[len(letters)-most+1:])
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) + "%" }

// union joins spans that are at most gap apart.
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
