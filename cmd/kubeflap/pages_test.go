package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mistakeIn parses a command of the docs, with the values of its flags and the checks of their combination, but does
// not run it.
func mistakeIn(program, args string) error {
	line := newCommandLine(calledAs(strings.ReplaceAll(program, " ", "-")), io.Discard, io.Discard)
	_, err := line.parse(strings.Fields(args))
	return err
}

func TestMistakesInCommandsAreFound(t *testing.T) {
	for args, found := range map[string]bool{
		"incidents --url http://localhost:9969": false, "--help": false, "incidents -o wide": false,
		"incidents --output=xml": true, "incidents --url http://localhost:9969 --context=prod": true, "replay": true, "run --data.size=1": true, "advise --for=soon": true,
	} {
		if err := mistakeIn("kubeflap", args); (err != nil) != found {
			t.Errorf("%s: %v, want an error: %v", args, err, found)
		}
	}
}

// TestCommandsInThePages checks that kubeflap accepts every command in the docs, and that the Makefile defines every
// make target in them. The lab and other tests run the commands.
func TestCommandsInThePages(t *testing.T) {
	shell := regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	command := regexp.MustCompile(`(?m)^ *(?:bin/)?(kubeflap|kubectl[ -]flap)((?: [^#\n|>]*)?)`)
	target := regexp.MustCompile(`(?m)^ *make ([a-z/-]+)`)
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
					_, tool, isTool := strings.Cut(m[1], "bin/")
					if _, err := os.Stat("../../tools/" + tool + ".mod"); isTool && err == nil {
						continue
					}
					if !strings.Contains(string(makefile), "\n"+m[1]+":") {
						t.Errorf("%s: there is no target %s", page, m[1])
					}
				}
				for _, m := range command.FindAllStringSubmatch(block[1], -1) {
					found++
					if err := mistakeIn(m[1], m[2]); err != nil {
						t.Errorf("%s: %s: %v", page, m[0], err)
					}
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands", found)
	}
}
