package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// The documents must name the releases that the tests use.
func TestDocumentsNameTheReleases(t *testing.T) {
	oldest, newest := string(cluster.Oldest), string(cluster.Newest)
	for path, say := range map[string][]string{
		"README.md": {fmt.Sprintf("It runs %s and %s,", newest, oldest), "RELEASE=" + oldest, "-release " + oldest},
		"../README.md": {
			fmt.Sprintf("Kubernetes %s to %s,", minor(oldest), minor(newest)), fmt.Sprintf("tested with %s and %s", oldest, newest),
		},
		"../docs/install.md": {
			fmt.Sprintf("supports %s to %s.", minor(oldest), minor(newest)),
			fmt.Sprintf("the oldest release, %s, and the newest, %s.", oldest, newest),
			"RELEASE=" + oldest,
		},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unbroken := strings.ReplaceAll(string(text), "\n", " ")
		for _, want := range say {
			if !strings.Contains(unbroken, want) {
				t.Errorf("%s does not contain %q", path, want)
			}
		}
	}
}

// minor returns a release without its patch version: v1.31 for v1.31.0.
func minor(release string) string { return release[:strings.LastIndex(release, ".")] }
