package api

import (
	"math"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

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
	begin, end := t.Ticks[0].Text, t.Ticks[1].Text
	text.WriteString(" " + begin + strings.Repeat(" ", max(barColumns-len(begin)-len(end), 1)) + end + "\n")
	return text.String()
}
