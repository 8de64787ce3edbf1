package chart

import (
	"archive/zip"
	"bytes"
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

const all3 = "{prometheusRule: {enabled: true}, dashboards: {enabled: true}, serviceMonitor: {enabled: true}}"

// The chart must render the same objects from the work tree, from a zip archive, from a checkout without symbolic links
// and from a package.
func TestChartIsWholeWhereverItComesFrom(t *testing.T) {
	t.Parallel()
	packages := t.TempDir()
	if _, err := helm(t, "", "package", chart, "--destination", packages); err != nil {
		t.Fatal(err)
	}
	packaged, err := filepath.Glob(packages + "/kubeflap-*.tgz")
	if err != nil || len(packaged) != 1 {
		t.Fatalf("%q, %v", packaged, err)
	}
	want, err := template(all3)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"zip archive": unzipped(t), "checkout without links": checkout(t), "package": packaged[0]} {
		got, err := helm(t, all3, "template", "kubeflap", path, "--namespace", "monitoring", "--values", "-")
		if err != nil || got != want {
			t.Errorf("the %s renders other objects, or an error: %v", name, err)
		}
	}
}

// unzipped packs the chart into a zip archive that only contains regular files. Then it unpacks the archive.
func unzipped(t *testing.T) string {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if err := w.AddFS(os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "kubeflap")
	if err := os.CopyFS(to, r); err != nil {
		t.Fatal(err)
	}
	return to
}

// checkout copies the chart as git does with core.symlinks=false. Each symbolic link becomes a file with the path of
// its target.
func checkout(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "kubeflap")
	err := filepath.WalkDir(chart, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(chart, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		text, err := os.ReadFile(path)
		if entry.Type()&fs.ModeSymlink != 0 {
			var target string
			target, err = os.Readlink(path)
			text = []byte(target)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// If a copy of the chart lacks the rules or the dashboards, it must refuse to render them. It must not omit them
// silently.
func TestLostFilesAreRefused(t *testing.T) {
	t.Parallel()
	for directory, c := range map[string]struct{ values, message string }{
		"rules":      {"{prometheusRule: {enabled: true}}", "prometheusRule.enabled is true, but this copy of the chart contains no files rules/*.yaml"},
		"dashboards": {"{dashboards: {enabled: true}}", "dashboards.enabled is true, but this copy of the chart contains no files dashboards/*.json"},
	} {
		path := checkout(t)
		if err := os.RemoveAll(filepath.Join(path, directory)); err != nil {
			t.Fatal(err)
		}
		// With core.symlinks=false, git writes such a file in place of a symbolic link.
		if err := os.WriteFile(filepath.Join(path, directory), []byte("../../"+directory), 0o600); err != nil {
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
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sources := 0
	for _, file := range files {
		text := values(t, file)
		switch {
		case strings.Contains(text, "\n# Modeled on: https://"):
			sources++
		case !strings.Contains(text, "\n# Tests "):
			t.Errorf("%s names neither a source nor what it tests", filepath.Base(file))
		}
	}
	if sources < 15 {
		t.Errorf("%d values files name a public source", sources)
	}
}
