package phrase

import "strings"

// markup contains the characters that Markdown or GitHub's extensions may interpret within a line.
const markup = "\\`*_[]<>&|~$#@"

// Markdown escapes text for a heading, a list item or a table cell in Markdown. It puts a backslash before each
// character that may be markup, and before characters that would create a link. The result is one line without spaces
// at its ends.
func Markdown(s string) string {
	var text strings.Builder
	line := strings.TrimSpace(Line(s))
	for i, r := range line {
		if strings.ContainsRune(markup, r) || isLink(line, i) || beginsBlock(line, i) {
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
