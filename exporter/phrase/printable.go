package phrase

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line escapes text for display on one line. It escapes control characters, because a terminal or a browser would
// interpret them. It also escapes line breaks, so that a name cannot imitate a separate line.
func Line(s string) string { return escape(s, "") }

// Text escapes text for display on several lines. It keeps line feeds and tabs.
func Text(s string) string { return escape(s, "\n\t") }

// Wrap escapes text and wraps it at word boundaries. `width` is the maximum length of a line, including the
// indentation. The caller must indent the first line.
func Wrap(text string, indent, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(Line(text)) {
		if line != "" && indent+utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}

// escape replaces unprintable characters and invalid UTF-8 with Go escapes such as \x1b or \u202e. It does not change
// the characters in `keep`.
func escape(s, keep string) string {
	shown := func(r rune, size int) bool {
		return (unicode.IsPrint(r) || strings.ContainsRune(keep, r)) && (r != utf8.RuneError || size > 1)
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if text := s[i : i+size]; shown(r, size) {
			b.WriteString(text)
		} else {
			b.WriteString(strings.Trim(strconv.Quote(text), `"`))
		}
	}
	return b.String()
}
