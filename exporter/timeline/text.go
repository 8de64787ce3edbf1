package timeline

import (
	"math"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// columns is the width of the bars in characters.
const columns = 50

// Text draws the timeline with characters. Each line is printable and begins with a vertical bar or a space, so that a
// name cannot end a block of code.
func (t *Drawing) Text() string {
	var text strings.Builder
	for _, row := range t.Rows {
		if len(row.Bars) == 0 {
			text.WriteString(strings.Repeat(" ", columns+len("||  ")) + phrase.Line(row.Label) + "\n")
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
		text.WriteString("|" + string(bar) + "|  " + phrase.Line(row.Label) + "\n")
	}
	begin, end := t.Ticks[0].Text, t.Ticks[1].Text
	text.WriteString(" " + begin + strings.Repeat(" ", max(columns-len(begin)-len(end), 1)) + end + "\n")
	return text.String()
}
