package contract

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

// files holds the text files of the repository, by path.
var files = sync.OnceValues(func() (map[string]string, error) {
	all := map[string]string{}
	binary := []string{".gz", ".jsonl", ".webp", ".sum", ".bin", ".pb"}
	return all, filepath.WalkDir(Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || slices.Contains(binary, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
})

// pages returns all Markdown files, and texts all others.
func pages(t *testing.T) map[string]string {
	return filesThatAre(t, func(ext string) bool { return ext == ".md" })
}

func texts(t *testing.T) map[string]string {
	return filesThatAre(t, func(ext string) bool { return ext != ".md" })
}

func filesThatAre(t *testing.T, wanted func(ext string) bool) map[string]string {
	t.Helper()
	all := try(files())(t)
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(path, _ string) bool { return !wanted(filepath.Ext(path)) })
	return some
}

// anchors returns the anchors that GitHub generates for a page's headings.
func anchors(text string) []string {
	strip := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	var all []string
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if hashes, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Trim(hashes, "#") == "" {
			all = append(all, strings.ReplaceAll(strip.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
		}
	}
	return all
}

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	all := pages(t)
	if len(all) < 40 {
		t.Fatalf("found only %d pages", len(all))
	}
	for page, text := range all {
		for _, m := range pageLink.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") || strings.Contains(target, "{") {
				continue // the link leads to another site, or is a template
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if fragment != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchors(all[to]), fragment) {
				t.Errorf("%s links to %s, but that page has no such heading", page, m[1])
			}
		}
	}
}

// Code, rules, charts and messages also name pages, by path or by address, some with an anchor.
func TestPagesThatFilesNameExist(t *testing.T) {
	all := pages(t)
	named := regexp.MustCompile(`(?:^|[^\w/.-])(?:\.\./)*(?:https://github\.com/kubeflap/kubeflap/blob/[^/\s]+/)?((?:docs|rules/runbooks|lab|charts/kubeflap)/[\w./-]+\.md)(#[\w-]+)?`)
	found := 0
	for path, text := range texts(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			page, ok := all[filepath.Join(Root, m[1])]
			if !ok {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(page), m[2][1:]) {
				t.Errorf("%s names %s%s, but that page has no such heading", path, m[1], m[2])
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d pages", found)
	}
}

// Paths of this repository in the docs must exist.
func TestPathsOnPagesExist(t *testing.T) {
	path := regexp.MustCompile("`((?:exporter|cmd/kubeflap|rules|dashboards|charts|lab|tools|deploy|mixin)/[\\w./*-]*)`")
	found := 0
	for page, text := range userPages(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			found++
			if matches, err := filepath.Glob(filepath.Join(Root, m[1])); err != nil || len(matches) == 0 {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d paths", found)
	}
}

// The index must link to every page in docs/.
func TestTheIndexHasEveryPage(t *testing.T) {
	all := pages(t)
	index := all["../../docs/README.md"]
	for page := range all {
		name, inDocs := strings.CutPrefix(page, "../../docs/")
		if inDocs && name != "README.md" && !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

// The README fits on two screens.
func TestTheReadmeIsShort(t *testing.T) {
	text := readFile(t, "README.md")
	if lines, words := strings.Count(text, "\n"), len(strings.Fields(text)); lines > 90 || words > 700 {
		t.Errorf("README.md has %d lines and %d words", lines, words)
	}
}

// The docs have few pages, so that a reader finds the right one. The runbooks have their own limit.
func TestTheDocsAreShort(t *testing.T) {
	number, words := 0, 0
	for page, text := range pages(t) {
		if strings.HasPrefix(page, "../../docs/") {
			number++
			words += len(strings.Fields(text))
		}
	}
	if number > 20 || words > 25_000 {
		t.Errorf("docs/ has %d pages and %d words, want at most 20 and 25,000", number, words)
	}
}
