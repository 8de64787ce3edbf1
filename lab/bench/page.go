package bench

import (
	"fmt"
	"os"
	"strings"
)

// partRecorder is the name of a part of the page. The page also has a part for each Size, with the name of that Size.
const partRecorder = "recorder"

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// writePart replaces the text between the two markers of a part of the page.
func writePart(path, part, text string) error {
	before, after, err := around(path, part)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(before+"\n"+text+"\n"+after), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// around splits the page. It returns the text before a part and the text after it, including the markers of the part.
func around(path, part string) (before, after string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the page: %w", err)
	}
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", fmt.Errorf("write %s: no line %s followed by a line %s", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin, end + after, nil
}
