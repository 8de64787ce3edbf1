// Package printable makes names from a cluster or a recording safe to show. It escapes control characters, which a terminal or
// a browser would obey.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line escapes a text for one line. Line breaks are escaped as well, so that no name can fake a line.
func Line(s string) string { return escape(s, "") }

// Text escapes a text of several lines.
func Text(s string) string { return escape(s, "\n\t") }

// escape replaces characters that cannot be printed by Go escapes such as \x1b or \u202e, except those in keep.
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
