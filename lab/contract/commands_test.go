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

// tool is a program whose commands the pages show. It caches the help texts.
type tool struct {
	name string
	help map[string]string
}

// mistake returns what the help text of the command does not know: the command itself, or one of its flags.
func (x tool) mistake(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)[1:]
	if len(words) > 2 && words[0] == "-n" { // kubectl accepts this flag before the command
		words = append(words[2:], "-n")
	}
	var verbs []string
	for _, word := range words {
		if len(verbs) == 3 || !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
			break
		}
		verbs = append(verbs, word)
	}
	help := ""
	for n := len(verbs); n > 0 && help == ""; n-- {
		help = x.helpOf(t, verbs[:n])
	}
	if help == "" {
		return "the command " + strings.Join(verbs, " ")
	}
	for _, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		if word == "--" {
			break
		}
		if regexp.MustCompile(`^--?[a-z]`).MatchString(flag) && !regexp.MustCompile(`(?m)(^|[\s\[])`+regexp.QuoteMeta(flag)+`([\s=,\]]|$)`).MatchString(help) {
			return "the flag " + flag
		}
	}
	return ""
}

// helpOf returns the help text of a command, or nothing if there is no such command.
func (x tool) helpOf(t *testing.T, verbs []string) string {
	t.Helper()
	key := strings.Join(verbs, " ")
	if text, known := x.help[key]; known {
		return text
	}
	path, err := filepath.Abs(Root + "/bin/" + x.name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, append(slices.Clone(verbs), "--help")...).CombinedOutput()
	if key == "options" { // kubectl's common flags
		out, err = exec.CommandContext(t.Context(), path, key).CombinedOutput()
	}
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	x.help[key] = string(out)
	if err != nil || strings.Contains(string(out), "unknown command") || strings.Contains(string(out), "expected command") {
		x.help[key] = ""
	} else if x.name == "kubectl" && key != "options" {
		x.help[key] += x.helpOf(t, []string{"options"})
	}
	return x.help[key]
}

func tools() map[string]tool {
	all := map[string]tool{}
	for _, name := range []string{"kubectl", "helm", "amtool", "promtool"} {
		all[name] = tool{name, map[string]string{}}
	}
	return all
}

// Each command of these tools on the pages must exist, with its flags. Other tests parse the commands of kubeflap and
// make, and render what helm installs.
func TestToolsKnowTheCommands(t *testing.T) {
	all := tools()
	found := 0
	check := func(page, command string) {
		command = strings.TrimPrefix(strings.TrimSpace(command), "bin/")
		name, _, _ := strings.Cut(command, " ")
		x, known := all[name]
		if !known || strings.HasPrefix(command, "kubectl flap") || strings.HasPrefix(command, "kubectl krew") || strings.Contains(command, "...") {
			return
		}
		found++
		if mistake := x.mistake(t, command); mistake != "" {
			t.Errorf("%s: %s does not exist: %s", page, mistake, command)
		}
	}
	for page, text := range userPages(t) {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.SplitSeq(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
				line, _, _ = strings.Cut(line, " #")
				for part := range strings.SplitSeq(line, " | ") {
					check(page, part)
				}
			}
		}
		for _, code := range inlineCode.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(code[1], " ") {
				check(page, code[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d commands", found)
	}
}
