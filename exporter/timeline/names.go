package timeline

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxLabel is the number of characters of a label that fit on a phone.
	maxLabel = 42
	// minName is the number of characters that a name may always have.
	minName = 12
)

// room returns the number of characters that are left for the name before the row's label.
func (r *Row) room() int { return maxLabel - len(": ") - utf8.RuneCountInString(r.Label) }

// label puts the names before the labels of their rows. Long names lose their middle. Different names stay different.
func label(rows []Row) {
	var long []string
	most := maxLabel
	for i := range rows {
		if room := max(rows[i].room(), minName); utf8.RuneCountInString(rows[i].name) > room {
			long, most = append(long, rows[i].name), min(most, room)
		}
	}
	short := shorten(long, most)
	for i := range rows {
		switch name := rows[i].name; {
		case name == "":
		case short[name] != "":
			rows[i].Label = short[name] + ": " + rows[i].Label
		default:
			rows[i].Label = name + ": " + rows[i].Label
		}
	}
}

// shorten returns the names with at most this many characters, or more if different names would otherwise look the same.
// All lose the same part, so that they can be compared.
func shorten(names []string, most int) map[string]string {
	for ; ; most++ {
		for _, head := range heads(names, most-1) {
			if short, ok := cut(names, head, most-1-head); ok {
				return short
			}
		}
	}
}

// heads returns the numbers of characters that names may keep at their start, best first. The host of a domain name
// is worth more than the domain. Other names keep as much of both ends.
func heads(names []string, kept int) []int {
	best := (kept + 1) / 2
	for _, name := range names {
		if host := strings.IndexByte(name, '.'); utf8.RuneCountInString(name) > kept+1 && host > best && host < kept {
			best = host
		}
	}
	all := []int{best}
	for n := 1; n < kept; n++ {
		if best+n < kept {
			all = append(all, best+n)
		}
		if best-n > 0 {
			all = append(all, best-n)
		}
	}
	return all
}

// cut removes the middle of names that have more than head and tail characters at their ends. It reports whether
// different names stay different.
func cut(names []string, head, tail int) (short map[string]string, different bool) {
	short = map[string]string{}
	taken := map[string]string{}
	for _, name := range names {
		text, letters := name, []rune(name)
		if len(letters) > head+tail+1 {
			text = string(letters[:head]) + "…" + string(letters[len(letters)-tail:])
		}
		if other, ok := taken[text]; ok && other != name {
			return nil, false
		}
		short[name], taken[text] = text, name
	}
	return short, true
}
