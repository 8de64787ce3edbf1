// Package printable makes texts that hold names from a cluster, or from a stranger's recording, safe to look at: what a
// terminal or a browser would obey instead of showing is escaped.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a text on one line: line breaks are escaped as well, so that no name can feign a line of its own.
func Line(s string) string { return escape(s, "") }

// Text is a text of several lines.
func Text(s string) string { return escape(s, "\n\t") }

// escape writes what cannot be printed as Go does, \x1b or \u202e, but for the characters in keep.
func escape(s, keep string) string {
	shown := func(r rune) bool { return unicode.IsPrint(r) || strings.ContainsRune(keep, r) }
	bad := func(r rune) bool { return r == utf8.RuneError || !shown(r) }
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case shown(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
