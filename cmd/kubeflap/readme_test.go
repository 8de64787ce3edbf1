package main

import (
	"os"
	"strings"
	"testing"
)

// TestTheReadmeShowsTheDemo checks that each line in the README's example is printed by the demo. A line that ends with
// "..." is truncated.
func TestTheReadmeShowsTheDemo(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```text\n$ make demo\n")
	example, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("the README has no example that begins with $ make demo")
	}
	printed := playDemo(t)
	for line := range strings.SplitSeq(example, "\n") {
		line = strings.TrimSuffix(line, "...")
		if !strings.Contains(printed, line) {
			t.Errorf("the demo does not print %q", line)
		}
		if len(line) > 100 {
			t.Errorf("a line of %d characters scrolls: %q", len(line), line)
		}
	}
}
