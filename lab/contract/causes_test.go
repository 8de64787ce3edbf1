package contract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// docs/verdicts.md must explain every cause and every verdict. Alerts link to the headings of verdicts.
func TestVerdictsPageExplainsEveryCauseAndVerdict(t *testing.T) {
	page := readFile(t, "docs/verdicts.md")
	for _, c := range cause.All() {
		if !strings.Contains(page, "\n| `"+c.String()+"` | ") {
			t.Errorf("docs/verdicts.md does not explain the cause %s", c)
		}
	}
	for _, v := range verdict.All() {
		if !slices.Contains(anchors(page), v.String()) {
			t.Errorf("docs/verdicts.md has no heading for the verdict %s", v)
		}
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b := try(os.ReadFile(filepath.Join(Root, path)))(t)
	return string(b)
}
