package contract

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shellBlock matches a code block of shell commands. inlineCode matches code within a line.
var (
	shellBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
)

// userPages returns the pages that users read.
func userPages(t *testing.T) map[string]string {
	t.Helper()
	all := pages(t)
	for page := range all {
		path, _ := filepath.Rel(Root, page)
		top, _, _ := strings.Cut(path, "/")
		if !slices.Contains([]string{"README.md", "CONTRIBUTING.md", "docs", "rules", "charts"}, top) {
			delete(all, page)
		}
	}
	return all
}

func TestShellBlocksAreValid(t *testing.T) {
	blocks := 0
	for page, text := range userPages(t) {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			blocks++
			check := exec.CommandContext(t.Context(), "bash", "-n")
			check.Stdin = strings.NewReader(block[1])
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s in %s", page, err, out, block[1])
			}
		}
	}
	if blocks < 30 {
		t.Errorf("found only %d blocks", blocks)
	}
}

// documented are the tools whose commands the pages show.
var documented = []string{"kubectl", "helm", "amtool", "promtool"}

// Each command of these tools on the pages must exist, with its flags. With --help, a tool reads its command line, and
// does nothing. Other tests parse the commands of kubeflap and make, and render what helm installs.
func TestToolsKnowTheCommands(t *testing.T) {
	found := 0
	check := func(page, command string) {
		command = strings.TrimPrefix(strings.TrimSpace(command), "bin/")
		command, _, _ = strings.Cut(command, " -- ")
		words := strings.Fields(command)
		if len(words) < 2 || !slices.Contains(documented, words[0]) || slices.Contains([]string{"flap", "krew"}, words[1]) || strings.Contains(command, "...") {
			return
		}
		found++
		if out, err := exec.CommandContext(t.Context(), Root+"/bin/"+words[0], append(words[1:], "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %.200s", page, command, out)
		}
	}
	for page, text := range userPages(t) {
		var lines []string
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			lines = append(lines, strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n")...)
		}
		for _, code := range inlineCode.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			lines = append(lines, code[1])
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, " #")
			for part := range strings.SplitSeq(line, " | ") {
				check(page, part)
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d commands", found)
	}
}
