package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// closedSet returns the names of all causes, sorted.
func closedSet() (all []string) {
	for _, c := range cause.All() {
		all = append(all, c.String())
	}
	slices.Sort(all)
	return all
}

// All alerts with the label cause must contain the same remedies, one for each cause.
func TestRemedies(t *testing.T) {
	causes := closedSet()
	text := ""
	for _, r := range alerts(t) {
		_, remedy, ok := strings.Cut(r.Annotations["description"], "Cause: {{ $labels.cause }}")
		if ok != slices.Contains(r.Labels, "cause") {
			t.Errorf("%s: has the label cause: %t; has a remedy per cause: %t", r.Alert, !ok, ok)
		}
		switch {
		case !ok:
		case text == "":
			text = remedy
		case remedy != text:
			t.Errorf("%s: the remedies per cause differ from those of the other alerts", r.Alert)
		}
	}
	branches := remediesOf(text)
	var named []string
	for cause := range branches {
		named = append(named, cause)
	}
	slices.Sort(named)
	if !slices.Equal(named, causes) {
		t.Errorf("got remedies for %v, want the causes %v", named, causes)
	}
}

// docs/causes.md must explain every cause.
func TestCausesPageExplainsEveryCause(t *testing.T) {
	page := readFile(t, "docs/causes.md")
	for _, cause := range closedSet() {
		if !strings.Contains(page, "\n| `"+cause+"` | ") {
			t.Errorf("docs/causes.md does not explain %s", cause)
		}
	}
}

// remediesOf returns the remedies by cause. It reads them from the if and else branches of an annotation template.
func remediesOf(text string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`{{- (?:else )?if eq \$labels\.cause "(\w+)" -}}([^{]*)`).FindAllStringSubmatch(text, -1) {
		all[m[1]] = unwrap(m[2])
	}
	if _, other, ok := strings.Cut(text, "{{- else -}}"); ok {
		all["unknown"] = unwrap(strings.TrimSuffix(strings.TrimSpace(other), "{{- end }}"))
	}
	return all
}

func unwrap(s string) string { return strings.Join(strings.Fields(s), " ") }

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
