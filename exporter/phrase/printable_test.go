package phrase

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWhatATerminalWouldObeyIsEscaped(t *testing.T) {
	for name, c := range map[string]struct{ in, line, text string }{
		"a name":              {"shop/web-1", "shop/web-1", "shop/web-1"},
		"other scripts":       {"kühlschrank 冷蔵庫", "kühlschrank 冷蔵庫", "kühlschrank 冷蔵庫"},
		"a colour":            {"\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		"a control of 8 bits": {"\u009b31m", `\u009b31m`, `\u009b31m`},
		"right to left":       {"a\u202eb", `a\u202eb`, `a\u202eb`},
		"a tag of its own":    {"a\U000e0041", `a\U000e0041`, `a\U000e0041`},
		"no UTF-8":            {"a\xff\xc3", `a\xff\xc3`, `a\xff\xc3`},
		"replaced before":     {"a\ufffd", "a\ufffd", "a\ufffd"},
		"line breaks":         {"a\nb\r\n\tc", `a\nb\r\n\tc`, "a\nb\\r\n\tc"},
		"a bell and deletion": {"\a\x7f\x00", `\a\x7f\x00`, `\a\x7f\x00`},
	} {
		if got := Line(c.in); got != c.line {
			t.Errorf("%s as a line is %q, want %q", name, got, c.line)
		}
		if got := Text(c.in); got != c.text {
			t.Errorf("%s as a text is %q, want %q", name, got, c.text)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[0m\xff\u202e\n")
	f.Fuzz(func(t *testing.T, s string) {
		line := Line(s)
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || !utf8.ValidString(line) {
			t.Errorf("%q is still %q", s, line)
		}
		if Line(line) != line {
			t.Errorf("%q is escaped twice", line)
		}
	})
}
