package bench

import (
	"fmt"
	"os"
	"strings"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// partRecorder is the name of a part of the page. The page also has a part for each Size, with the name of that Size.
const partRecorder = "recorder"

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// writePart replaces the text between the two markers of a part of the page.
func writePart(path, part, text string) {
	before, after := around(path, part)
	steps.Must(os.WriteFile(path, []byte(before+"\n"+text+"\n"+after), 0o644))
}

// around splits the page. It returns the text before a part and the text after it, including the markers of the part.
func around(path, part string) (before, after string) {
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(steps.Value(os.ReadFile(path))), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		steps.Must(fmt.Errorf("write %s: no line %s followed by a line %s", path, strings.TrimSpace(begin), strings.TrimSpace(end)))
	}
	return before + begin, end + after
}
