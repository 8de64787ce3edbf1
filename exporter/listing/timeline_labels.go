package listing

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
	// extra is the number of characters by which a shortened name can exceed its maximum length, to differ from other
	// names.
	extra = 3
)

// room returns the number of characters that are available for the name that precedes the row's label.
func (r *Row) room() int { return maxLabel - len(": ") - utf8.RuneCountInString(r.Label) }

// label adds each row's name to the start of the row's label. It removes the middle of long names, but different names
// stay distinct.
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

// shorten removes the middle of long names, at the same position in each name. `most` is the maximum length of the
// results. If different names would look the same, the results are slightly longer (see `extra`) or get a number.
func shorten(names []string, most int) map[string]string {
	letters := map[string][]rune{}
	for _, name := range names {
		letters[name] = []rune(name)
	}
	for kept := most - 1; kept < most+extra; kept++ {
		for _, head := range heads(names, kept) {
			if short, different := cut(names, letters, head, kept-head); different {
				return short
			}
		}
	}
	head := heads(names, most-1)[0]
	short, _ := cut(names, letters, head, most-1-head)
	return addNumbers(names, short)
}

// heads returns candidates for the number of characters to keep at the start of each name, best first. The best
// candidate keeps a domain name up to its first dot. If no name is a domain name, the best candidate keeps equal parts
// of the start and the end.
func heads(names []string, kept int) []int {
	best := (kept + 1) / 2
	for _, name := range names {
		if host := strings.IndexByte(name, '.'); host > best && host < kept {
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

// cut shortens each name to its first and last characters. `head` and `tail` are the numbers of characters to keep. The
// result `different` is false if two different names become equal.
func cut(names []string, letters map[string][]rune, head, tail int) (short map[string]string, different bool) {
	short, different = map[string]string{}, true
	taken := map[string]string{}
	for _, name := range names {
		text, all := name, letters[name]
		if len(all) > head+tail+1 {
			text = string(all[:head]) + "…" + string(all[len(all)-tail:])
		}
		if other, ok := taken[text]; ok && other != name {
			different = false
		}
		short[name], taken[text] = text, name
	}
	return short, different
}

// addNumbers adds numbers to short names that look the same.
func addNumbers(names []string, short map[string]string) map[string]string {
	seen, used := map[string]bool{}, map[string]int{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		text := short[name]
		if used[text]++; used[text] > 1 {
			short[name] = fmt.Sprintf("%s(%d)", text, used[text])
		}
	}
	return short
}
