package postmortem

import (
	"math"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/timeline"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// draw returns an incident's timeline, with the same rows as on kubeflap's web page.
func draw(x *api.Incident, asOf time.Time) *timeline.Drawing {
	until := asOf
	if x.End != nil {
		until = *x.End
	}
	drawn := incident.Incident{Start: x.Start, Summary: x.Summary}
	for _, s := range x.Timeline {
		span := incident.Span{Track: incident.Track(s.Lane), Name: s.Name, Start: s.Start}
		if s.End != nil {
			span.End = *s.End
		}
		drawn.Timeline = append(drawn.Timeline, span)
	}
	return timeline.Draw(&drawn, until, false)
}

// columns is the width of the timeline in characters.
const columns = 50

// picture draws a timeline as text for Markdown. The lines are printable and never begin with a backquote, so they
// cannot end a code block.
func picture(d *timeline.Drawing) string {
	var text strings.Builder
	for _, row := range d.Rows {
		if len(row.Bars) == 0 {
			text.WriteString(strings.Repeat(" ", columns+len("||  ")) + printable.Line(row.Label) + "\n")
			continue
		}
		bar := []byte(strings.Repeat(".", columns))
		for _, b := range row.Bars {
			from := int(b.Left / 100 * columns)
			to := int(math.Ceil((b.Left + b.Wide) / 100 * columns))
			for i := min(from, columns-1); i < min(to, columns); i++ {
				bar[i] = '#'
			}
		}
		text.WriteString("|" + string(bar) + "|  " + printable.Line(row.Label) + "\n")
	}
	begin, end := d.Ticks[0].Text, d.Ticks[1].Text
	text.WriteString(" " + begin + strings.Repeat(" ", max(columns-len(begin)-len(end), 1)) + end + "\n")
	return text.String()
}
