package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// originals returns the files that the chart copies. A symbolic link would not suffice, because zip archives, Flux and
// Windows drop symbolic links.
func originals(t *testing.T) []string {
	t.Helper()
	rules, err1 := filepath.Glob(root + "/rules/*.yaml")
	dashboards, err2 := filepath.Glob(root + "/dashboards/*.json")
	if err1 != nil || err2 != nil || len(rules) < 4 || len(dashboards) < 4 {
		t.Fatalf("found %d rule files and %d dashboards: %v, %v", len(rules), len(dashboards), err1, err2)
	}
	// alertmanager.yaml is an example configuration and contains no rules.
	rules = slices.DeleteFunc(rules, func(file string) bool { return filepath.Base(file) == "alertmanager.yaml" })
	return slices.Concat(rules, dashboards)
}

// The chart must contain exactly the rules and dashboards of the repository, byte for byte. With -update, this test
// writes the copies. It is not parallel, so it writes them before other tests render them.
func TestCopiesAreFresh(t *testing.T) {
	for _, directory := range []string{"rules", "dashboards"} {
		// If the directory were a symbolic link, the test could remove the originals.
		if info, err := os.Lstat(filepath.Join(chart, directory)); err != nil || !info.IsDir() {
			t.Fatalf("%s in the chart is not a directory: %v", directory, err)
		}
	}
	want := map[string]bool{}
	for _, original := range originals(t) {
		name, err := filepath.Rel(root, original)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = true
		checkFresh(t, filepath.Join(chart, name), values(t, original))
	}
	for _, directory := range []string{"rules", "dashboards"} {
		entries, err := os.ReadDir(filepath.Join(chart, directory))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			switch name := filepath.Join(directory, entry.Name()); {
			case want[name] && entry.Type().IsRegular():
			case *update:
				if err := os.Remove(filepath.Join(chart, name)); err != nil {
					t.Error(err)
				}
			default:
				t.Errorf("%s in the chart has no original in the repository: run make docs", name)
			}
		}
	}
}

// The chart must render the same objects from the work tree and from a package. It must not contain symbolic links, so
// zip archives and all checkouts contain the same files.
func TestChartIsWholeWhereverItComesFrom(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(chart, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			t.Errorf("%s is not a regular file", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packages := t.TempDir()
	if _, err := helm(t, "", "package", chart, "--destination", packages); err != nil {
		t.Fatal(err)
	}
	packaged, err := filepath.Glob(packages + "/kubeflap-*.tgz")
	if err != nil || len(packaged) != 1 {
		t.Fatalf("%q, %v", packaged, err)
	}
	const values = "{prometheusRule: {enabled: true}, dashboards: {enabled: true}, serviceMonitor: {enabled: true}}"
	want, err := template(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := helm(t, values, "template", "kubeflap", packaged[0], "--namespace", "monitoring", "--values", "-")
	if err != nil || got != want {
		t.Errorf("the package renders other objects, or an error: %v", err)
	}
}

// If a copy of the chart lacks the rules or the dashboards, it must refuse to render them. It must not omit them
// silently.
func TestLostFilesAreRefused(t *testing.T) {
	t.Parallel()
	for directory, c := range map[string]struct{ values, message string }{
		"rules":      {"{prometheusRule: {enabled: true}}", "prometheusRule.enabled is true, but this copy of the chart contains no files rules/*.yaml"},
		"dashboards": {"{dashboards: {enabled: true}}", "dashboards.enabled is true, but this copy of the chart contains no files dashboards/*.json"},
	} {
		path := filepath.Join(t.TempDir(), "kubeflap")
		if err := os.CopyFS(path, os.DirFS(chart)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(path, directory)); err != nil {
			t.Fatal(err)
		}
		if _, err := helm(t, c.values, "template", "kubeflap", path, "--values", "-"); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("without %s: got error %v, want %q", directory, err, c.message)
		}
		if _, err := helm(t, "", "template", "kubeflap", path); err != nil {
			t.Errorf("without %s, which the values do not enable: %v", directory, err)
		}
	}
}

// At least 15 values files in ci/ must name the public values file on which they are modeled. Each of the others must
// say what it tests.
func TestValuesNameTheirSource(t *testing.T) {
	t.Parallel()
	sources := 0
	for name, text := range valuesFiles(t) {
		switch {
		case strings.Contains(text, "\n# Modeled on: https://"):
			sources++
		case !strings.Contains(text, "\n# Tests "):
			t.Errorf("%s names neither a source nor what it tests", name)
		}
	}
	if sources < 15 {
		t.Errorf("%d values files name a public source", sources)
	}
}
