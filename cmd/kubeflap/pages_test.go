package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

var (
	shellBlock   = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	shellCommand = regexp.MustCompile(`(?m)^ *(?:bin/)?(kubeflap|kubectl[ -]flap)((?: [^#\n|>]*)?)`)
	makeTarget   = regexp.MustCompile(`(?m)^ *make ([a-z/-]+)`)
	// Text between backquotes can be broken into lines. Uppercase words stand for values.
	inlineCommand = regexp.MustCompile("`(?:(kubeflap|kubectl[ -]flap)(\\s[^`/][^`]*)|make ([a-z-]+)(?: [^`]*)?)`")
	placeholders  = strings.NewReplacer("=TIME", "=2026-03-01T12:00:00Z", "ID", "d2218d71", "...", "")
	// notCommands look like commands.
	notCommands = []string{" was not running", " COMMAND --help"}
)

// TestCommandsInThePages checks that kubeflap accepts every command in the docs, and that the Makefile defines every
// make target in them. The lab and other tests run the commands.
func TestCommandsInThePages(t *testing.T) {
	makefile := fileText(t, "../../Makefile")
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "lab/*.md", "mixin/*.md", "charts/kubeflap/*.md", "rules/runbooks/*.md"} {
		pages, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text := fileText(t, page)
			for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
				for _, m := range makeTarget.FindAllStringSubmatch(block[1], -1) {
					found++
					expectTarget(t, page, makefile, m[1])
				}
				for _, m := range shellCommand.FindAllStringSubmatch(block[1], -1) {
					found++
					if err := mistakeIn(m[1], m[2]); err != nil {
						t.Errorf("%s: %s: %v", page, m[0], err)
					}
				}
			}
			for _, m := range inlineCommand.FindAllStringSubmatch(text, -1) {
				found++
				if m[3] != "" {
					expectTarget(t, page, makefile, m[3])
				} else if !slices.Contains(notCommands, m[2]) {
					expectFlags(t, page, m[1], m[2])
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d commands", found)
	}
}

func expectTarget(t *testing.T, page, makefile, target string) {
	t.Helper()
	if strings.HasPrefix(target, "bin/") {
		target = "bin/%"
	}
	if !strings.Contains(makefile, "\n"+target+":") {
		t.Errorf("%s: there is no target %s", page, target)
	}
}

// expectFlags checks a command within a sentence, which can leave out arguments and values.
func expectFlags(t *testing.T, page, program, args string) {
	t.Helper()
	err := mistakeIn(program, placeholders.Replace(args))
	if err != nil && !strings.Contains(err.Error(), "required argument") && !strings.Contains(err.Error(), "expected argument") && !strings.Contains(err.Error(), " is missing: ") {
		t.Errorf("%s: %s%s: %v", page, program, args, err)
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
