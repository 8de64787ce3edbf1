package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommandsInThePages checks that kubeflap accepts every command in the docs with its flags, and that the Makefile
// defines every make target in them. The lab and other tests run the commands.
func TestCommandsInThePages(t *testing.T) {
	shell := regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	command := regexp.MustCompile(`(?m)^ *(?:bin/)?(kubeflap|kubectl[ -]flap)((?: [^#\n|>]*)?)`)
	target := regexp.MustCompile(`(?m)^ *make ([a-z-]+)`)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "lab/*.md", "charts/kubeflap/*.md", "rules/runbooks/*.md"} {
		pages, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range shell.FindAllStringSubmatch(string(text), -1) {
				for _, m := range target.FindAllStringSubmatch(block[1], -1) {
					found++
					if !strings.Contains(string(makefile), "\n"+m[1]+":") {
						t.Errorf("%s: there is no target %s", page, m[1])
					}
				}
				for _, m := range command.FindAllStringSubmatch(block[1], -1) {
					found++
					var said strings.Builder
					// --help prevents the command from running, but errors are still reported.
					args := slices.Concat(strings.Fields(m[2]), []string{"--help"})
					if status := run(calledAs(strings.ReplaceAll(m[1], " ", "-")), args, &said, &said); status != 0 || !strings.HasPrefix(said.String(), "usage: ") {
						t.Errorf("%s: %s: status %d: %s", page, m[0], status, &said)
					}
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands", found)
	}
}
