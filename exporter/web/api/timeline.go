package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Drawing is the timeline of an incident.
type Drawing struct {
	Rows []Row
	// Begin and End are the labels of the time axis below the bars.
	Begin, End string
	// Alt describes the drawing for readers who cannot see it.
	Alt string
}

// Row is a row of bars with a label above it. The label of a row without bars states how many more rows are not drawn.
type Row struct {
	Lane  incident.Track
	Label string
	Bars  []Bar
	name  string
	spans []span
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

// maxRows is the maximum number of rows per lane.
const maxRows = 6

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
		until = incident.Later(until, s.End.Time)
	}
	if !until.After(from) {
		until = from.Add(time.Millisecond)
	}
	for i := range rows {
		rows[i].draw(span{from, until})
	}
	return &Drawing{Rows: rows, Begin: phrase.Clock(from), End: "+" + phrase.Duration(until.Sub(from)), Alt: "Timeline: " + x.Summary}
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

// draw adds the bars and the duration to a row of a drawing that shows the whole time.
func (r *Row) draw(whole span) {
	if len(r.spans) == 0 {
		return
	}
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(whole.to.Sub(whole.from)) }
	for _, s := range r.spans {
		wide := max(share(s.to.Sub(s.from)), 0.6) // even a brief span must be visible
		r.Bars = append(r.Bars, Bar{
			Left: min(share(s.from.Sub(whole.from)), 100-wide), Wide: wide,
			Title: r.name + ": " + phrase.Clock(s.from) + ", " + cmp.Or(r.limits, phrase.Duration(s.to.Sub(s.from))),
		})
	}
	lasted, times := r.lasted()
	r.Label = strings.TrimPrefix(r.name+": ", ": ") + lanes[r.Lane] + " " + cmp.Or(r.limits, lasted) + phrase.Times(times)
}

// lasted says how long the row's spans lasted together, and how many there are if overlapping ones count once. Each
// heartbeat ends a silence, so of several silences it names the longest.
func (r *Row) lasted() (text string, times int) {
	var total, longest time.Duration
	for _, s := range r.spans {
		longest = max(longest, s.to.Sub(s.from))
	}
	if r.Lane == incident.TrackHeartbeat && len(r.spans) > 1 {
		return "up to " + phrase.Duration(longest), len(r.spans)
	}
	all := union(r.spans)
	for _, s := range all {
		total += s.to.Sub(s.from)
	}
	return phrase.Duration(total), len(all)
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) + "%" }

// union joins overlapping spans.
func union(spans []span) (all []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range spans {
		if n := len(all); n > 0 && !s.from.After(all[n-1].to) {
			all[n-1].to = incident.Later(all[n-1].to, s.to)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// barColumns is the width of the bars in characters.
const barColumns = 50

// Text draws the timeline with characters. Each line is printable and begins with a vertical bar or a space, so that a
// name cannot end a block of code.
func (t *Drawing) Text() string {
	var text strings.Builder
	for _, row := range t.Rows {
		if len(row.Bars) == 0 {
			text.WriteString(strings.Repeat(" ", barColumns+len("||  ")) + phrase.Line(row.Label) + "\n")
			continue
		}
		bar := []byte(strings.Repeat(".", barColumns))
		for _, b := range row.Bars {
			from := int(b.Left / 100 * barColumns)
			to := int(math.Ceil((b.Left + b.Wide) / 100 * barColumns))
			for i := min(from, barColumns-1); i < min(to, barColumns); i++ {
				bar[i] = '#'
			}
		}
		text.WriteString("|" + string(bar) + "|  " + phrase.Line(row.Label) + "\n")
	}
	text.WriteString(" " + t.Begin + strings.Repeat(" ", max(barColumns-len(t.Begin)-len(t.End), 1)) + t.End + "\n")
	return text.String()
}
