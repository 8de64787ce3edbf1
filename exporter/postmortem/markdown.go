package postmortem

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/kubeflap/kubeflap/exporter/printable"
)

//go:embed report.md.tmpl
var markdownSource string

// Markdown writes a report as Markdown, with GitHub's tables. Names and messages cannot add markup.
func Markdown(out io.Writer, in *Input) error {
	page, err := template.New("report.md").Funcs(template.FuncMap{"text": escape, "code": code, "picture": picture}).Parse(markdownSource)
	if err != nil {
		return fmt.Errorf("parse the template of the report: %w", err)
	}
	if err := page.Execute(out, documentOf(in)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// special contains the characters that Markdown or GitHub's extensions may interpret within a line.
const special = "\\`*_[]<>&|~$#"

// escape escapes text for a paragraph or a table cell in Markdown. It puts a backslash before each special character,
// and before characters that would create a link.
func escape(s string) string {
	var text strings.Builder
	line := strings.TrimSpace(printable.Line(s))
	for i, r := range line {
		if strings.ContainsRune(special, r) || isLink(line, i) || beginsBlock(line, i) {
			text.WriteByte('\\')
		}
		text.WriteRune(r)
	}
	return text.String()
}

// isLink reports whether the character at i turns the surrounding text into a link.
func isLink(line string, i int) bool {
	return strings.HasPrefix(line[i:], "://") || line[i] == '.' && strings.HasSuffix(strings.ToLower(line[:i]), "www")
}

// beginsBlock reports whether the character at i turns the line into a list item, a heading or a rule.
func beginsBlock(line string, i int) bool {
	first := i == 0
	if c := line[i]; c == '.' || c == ')' {
		first = i > 0 && strings.Trim(line[:i], "0123456789") == ""
	} else if c != '-' && c != '+' && c != '=' {
		return false
	}
	rest := strings.TrimLeft(line[i+1:], line[i:i+1])
	return first && (rest == "" || rest[0] == ' ')
}

// plain contains the characters that need no escaping in a code span.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:, "

// code formats a name as a code span. If the name contains a character that is not in `plain`, code escapes the name
// instead.
func code(s string) string {
	if s == "" || strings.Trim(s, plain) != "" || strings.TrimSpace(s) != s {
		return escape(s)
	}
	return "`" + s + "`"
}
