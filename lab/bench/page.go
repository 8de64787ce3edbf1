package bench

import (
	"fmt"
	"os"
	"strings"
)

// writeRow writes a row of a table.
func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// writePart replaces a part of a document, between its markers.
func writePart(path, part, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("write into %s: it has no line %s followed by a line %s", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if err := os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
