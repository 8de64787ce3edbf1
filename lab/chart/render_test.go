package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var verbs = regexp.MustCompile(`(?m)^ +verbs:(.*)$`)

// With each values file, all objects must decode strictly. They must have the common labels. kubeflap must only have
// permission to read.
func TestValuesRender(t *testing.T) {
	t.Parallel()
	for name, input := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := helm(input, "lint", "--strict", chart, "--values", "-"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, object := range render(t, input) {
				meta := object.(metav1.Object)
				if own := strings.HasSuffix(meta.GetName(), "-own") || meta.GetName() == "written-as-text"; own {
					continue
				}
				for _, label := range []string{"name", "instance", "version", "managed-by"} {
					if meta.GetLabels()["app.kubernetes.io/"+label] == "" {
						t.Errorf("%T %s has no label app.kubernetes.io/%s", object, meta.GetName(), label)
					}
				}
			}
			text := try(template(input))(t)
			for _, m := range verbs.FindAllStringSubmatch(text, -1) {
				if !slices.Contains([]string{" [get]", " [list, watch]", " [get, list, watch]"}, m[1]) {
					t.Errorf("permission to do more than read: %s", m[0])
				}
			}
			if notes := notes(t, input); !strings.Contains(notes, "/flaps") {
				t.Errorf("the notes do not contain the URL of the page:\n%s", notes)
			}
		})
	}
}

// Until a release is published, the README warns before the first example. testdata/values.diff shows the notes.
func TestReadmeSaysThatNothingIsPublished(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(values(t, root+"/README.md"), "```")
	if !strings.Contains(head, "**No release has been published yet.**") {
		t.Error("README.md does not warn before the first example that no release is published")
	}
}

// Each value must be set in at least one file in ci/.
func TestEveryValueIsSet(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, input := range valuesFiles(t) {
		for _, key := range keys(t, input) {
			seen[key] = true
		}
	}
	for _, key := range keys(t, values(t, source+"/values.yaml")) {
		if !touched(seen, key) && !leftAlone[key] {
			t.Errorf("no file in ci/ sets %s", key)
		}
	}
}

func touched(seen map[string]bool, key string) bool {
	for k := range seen {
		if k == key || strings.HasPrefix(k, key+".") {
			return true
		}
	}
	return false
}

// promtool writes the text to a file, and runs promtool with it.
func promtool(t *testing.T, text string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	if out, err := exec.CommandContext(t.Context(), root+"/bin/promtool", append(args, file)...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Each flag that the chart sets must exist in kubeflap run.
func TestFlagsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^- `(?:-\\w, )?--([a-z.-]+)").FindAllStringSubmatch(values(t, root+"/docs/flags.md"), -1) {
		known["--"+found[1]] = true
	}
	for _, file := range []string{"everything", "password", "namespace"} {
		args := pod(t, render(t, values(t, source+"/ci/"+file+"-values.yaml"))).Containers[0].Args
		if args[0] != "run" {
			t.Errorf("unexpected arguments %q", args)
		}
		for _, arg := range args[1:] {
			if flag, _, _ := strings.Cut(arg, "="); !known[flag] {
				t.Errorf("docs/flags.md lists no flag %s for kubeflap run", flag)
			}
		}
	}
}
