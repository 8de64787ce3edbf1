package api

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// fill sets all strings to text, all numbers to 3 and all times to noon. Lists get two elements.
func fill(v reflect.Value, text string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text)
		fill(v.Index(1), text)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text)
			}
		}
	}
}

// printed returns the Markdown of a document in which every text is `text`, with withdrawn incidents or without.
func printed(t *testing.T, text string, withdrawn bool) string {
	t.Helper()
	var answer Answer
	fill(reflect.ValueOf(&answer).Elem(), text)
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		if x.Remedy = strings.ReplaceAll(text, ". ", " "); !withdrawn { // one sentence
			x.Withdrawn, x.End = "", phrase.Time{}
		}
	}
	var out bytes.Buffer
	if err := Markdown(&out, &answer, text, text); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	escapes = regexp.MustCompile(`\\.`)
	markup  = regexp.MustCompile("^#+ |^- \\*\\*[A-Za-z]+:\\*\\*|^- |^\\|.*\\|$|[\\\\`*_\\[\\]<>&|~$#@\r]|://")
)

// structure returns the markup of a text: for each line, what precedes its text, the number of cells, and all characters
// that are not escaped. Blocks of code are replaced by their number of lines.
func structure(t *testing.T, text string) (lines []string) {
	t.Helper()
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("a line that a terminal would obey: %q", line)
		}
		if strings.HasPrefix(line, "```") {
			code = !code
		} else if code {
			if fence := strings.TrimLeft(line, " "); strings.HasPrefix(fence, "```") || line == "" {
				t.Errorf("a line ends the block of code: %q", line)
			}
			line = ""
		}
		line = escapes.ReplaceAllString(line, "")
		found := markup.FindString(line)
		if strings.HasPrefix(found, "|") {
			found = strings.Repeat("|", strings.Count(line, "|"))
			line = strings.ReplaceAll(line, "|", "")
		}
		rest := strings.TrimPrefix(line, found)
		lines = append(lines, found+" "+strings.Join(markup.FindAllString(rest, -1), ""))
	}
	if code {
		t.Error("a block of code does not end")
	}
	return lines
}

// checkStructure checks that a text in every field of a document changes no markup.
func checkStructure(t *testing.T, text string) {
	t.Helper()
	for _, withdrawn := range []bool{false, true} {
		// Short names of the timeline are not cut off, so the number of rows is the same.
		want, got := structure(t, printed(t, "x", withdrawn)), structure(t, printed(t, text, withdrawn))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q changes the structure\n%q\nto\n%q", text, want, got)
		}
	}
}

// TestMarkdownWithHostileNames checks that names and messages do not become markup: no tag, link, emphasis, code, table
// cell, heading or newline.
func TestMarkdownWithHostileNames(t *testing.T) {
	const all = "<script>alert(1)</script> [a](javascript:b) **c** _d_ `e` | f ~~g~~ $h$ &lt; https://i.example www.j.example k@l.example @m\n# n\r\n- o\u202e ```"
	for _, text := range append(strings.Fields(all), all, "```", "| a | b |", "\\|", "\\", "# a", "- a", "+ a", "1. a", "1) a", "===", "---", "    a", "> a", "a\n\nb", "\x1b[2J", "\xff", "\u2028", "![a](b)", "[^1]", "<!--") {
		checkStructure(t, text)
		if n := strings.Count(printed(t, "script"+text, false), "script"); n < 30 {
			t.Errorf("%q: only %d texts", text, n)
		}
	}
}
