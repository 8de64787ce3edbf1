package api

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const (
	// maxLabel is the maximum length of a label in characters. Such a label fits on the screen of a phone.
	maxLabel = 42
	// minName is the minimum length of a shortened name. Names are not shortened further, even if the label then
	// exceeds maxLabel.
	minName = 12
)

// room returns the number of characters that are available for the name that precedes the row's label.
func (r *Row) room() int { return maxLabel - len(": ") - utf8.RuneCountInString(r.Label) }

// label adds each row's name to the start of the row's label. It shortens long names to the same length, but different
// names stay distinct.
func label(rows []Row) {
	long, most := map[string]bool{}, maxLabel
	for _, r := range rows {
		if room := max(r.room(), minName); utf8.RuneCountInString(r.name) > room {
			long[r.name], most = true, min(most, room)
		}
	}
	names := map[string]string{} // by what a row shows
	for i := range rows {
		name := rows[i].name
		shown := name
		if long[name] {
			shown = shorten(name, most)
			for n := 2; names[shown] != "" && names[shown] != name; n++ {
				shown = fmt.Sprintf("%s(%d)", shorten(name, most), n)
			}
			names[shown] = name
		}
		if name != "" {
			rows[i].Label = shown + ": " + rows[i].Label
		}
	}
}

// shorten shortens a name to a length. It removes the domain if the rest of the name fits, or else the middle.
func shorten(name string, most int) string {
	letters := []rune(name)
	if len(letters) <= most {
		return name
	}
	if host, _, found := strings.Cut(name, "."); found && utf8.RuneCountInString(host) < most {
		return host + "…"
	}
	return string(letters[:most/2]) + "…" + string(letters[len(letters)-(most-1)/2:])
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
