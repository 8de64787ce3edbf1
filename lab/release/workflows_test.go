package release

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A tag of an action can be moved, so the workflows must name the commit of each action, and its version in a comment.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	workflows, err := filepath.Glob(root + "/.github/workflows/*.yaml")
	if err != nil || len(workflows) != 3 {
		t.Fatalf("unexpected workflows %q: %v", workflows, err)
	}
	for _, workflow := range workflows {
		actions := 0
		for line := range strings.Lines(string(read(t, workflow))) {
			if _, action, ok := strings.Cut(strings.TrimSpace(line), "uses: "); ok {
				actions++
				if !pinned.MatchString(action) {
					t.Errorf("%s: %s is not pinned", workflow, action)
				}
			}
		}
		if actions == 0 {
			t.Errorf("%s uses no actions", workflow)
		}
	}
}
