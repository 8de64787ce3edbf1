package api

import (
	"fmt"
	"strings"
	"unicode/utf8"
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
