package contract

import (
	"path/filepath"
	"regexp"
	"testing"
)

// runbooks returns the texts of all runbooks by file.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for path, text := range pages(t) {
		if filepath.Dir(path) == RulePath("runbooks") {
			texts[filepath.Base(path)] = text
		}
	}
	return texts
}

// All metrics, recording rules and alerts in runbooks must exist.
func TestRunbooksNameWhatExists(t *testing.T) {
	metrics := dictionary(t)
	names := setOf()
	for _, r := range rules(t) {
		names[r.Name()] = true
	}
	for runbook, text := range runbooks(t) {
		for _, name := range regexp.MustCompile(`[a-z:]*\bkubeflap_[a-z_]+[a-z0-9:]*`).FindAllString(text, -1) {
			if _, ok := metrics[name]; !ok && !names[name] {
				t.Errorf("%s: unknown name %s", runbook, name)
			}
		}
		for _, m := range regexp.MustCompile(`\b(Kubeflap[A-Z]\w*)(\.\+)?`).FindAllStringSubmatch(text, -1) {
			if m[2] == "" && !names[m[1]] {
				t.Errorf("%s: unknown alert %s", runbook, m[1])
			}
		}
	}
}
