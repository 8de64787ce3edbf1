package main

import (
	"cmp"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	goodLog   = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-02\n\n- [FEATURE] run: it runs.\n\n## 1.2.2 - 2026-01-01\n\n- [FEATURE] all of it.\n"
	goodChart = "name: kubeflap\nversion: 1.2.3\nappVersion: 1.2.3\n"
)

func mustGit(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkTag must report exactly the problems of each case.
func TestCheckTag(t *testing.T) {
	for name, c := range map[string]struct {
		log, chart, version string
		tags                []string
		dirt                string
		want                []string
	}{
		"good":         {},
		"no tag":       {tags: []string{}, want: []string{"the commit has no tag"}},
		"two tags":     {tags: []string{"v1.2.3", "v1.2.4"}, want: []string{"the commit has several tags: v1.2.3, v1.2.4"}},
		"no v":         {tags: []string{"1.2.3"}, want: []string{"the tag 1.2.3 is not vX.Y.Z"}},
		"a candidate":  {tags: []string{"v1.2.3-rc.1"}, want: []string{"the tag v1.2.3-rc.1 is not vX.Y.Z"}},
		"a zero":       {tags: []string{"v1.02.3"}, want: []string{"the tag v1.02.3 is not vX.Y.Z"}},
		"other build":  {version: "v1.2.2", want: []string{`the tag is v1.2.3, but make builds "v1.2.2"`}},
		"new file":     {dirt: "new", want: []string{"the work tree is not clean:\n?? new"}},
		"changed file": {dirt: changelog, want: []string{"the work tree is not clean:\n M CHANGELOG.md"}},
		"no section": {
			log:  strings.Replace(goodLog, "1.2.3", "1.2.4", 1),
			want: []string{"CHANGELOG.md: there is no section ## 1.2.3 - YYYY-MM-DD"},
		},
		"no date": {
			log:  strings.Replace(goodLog, " - 2026-01-02", "", 1),
			want: []string{`CHANGELOG.md: the date of ## 1.2.3 is "", not YYYY-MM-DD`},
		},
		"no such date": {
			log:  strings.Replace(goodLog, "2026-01-02", "2026-02-30", 1),
			want: []string{`CHANGELOG.md: the date of ## 1.2.3 is "2026-02-30", not YYYY-MM-DD`},
		},
		"empty section": {
			log:  strings.Replace(goodLog, "- [FEATURE] run: it runs.\n", "", 1),
			want: []string{"CHANGELOG.md: ## 1.2.3 has no entries"},
		},
		"not Unreleased": {
			log:  strings.Replace(goodLog, "## Unreleased\n", "", 1),
			want: []string{"CHANGELOG.md: the first section is not ## Unreleased"},
		},
		"left behind": {
			log:  strings.Replace(goodLog, "## Unreleased\n", "## Unreleased\n\n- [BUGFIX] run: less.\n", 1),
			want: []string{"CHANGELOG.md: ## Unreleased still has 1 entries"},
		},
		"not the newest": {
			log:  strings.Replace(goodLog, "## Unreleased\n", "## Unreleased\n\n## 1.3.0 - 2026-01-03\n\n- [FEATURE] run: more.\n", 1),
			want: []string{"CHANGELOG.md: ## 1.3.0 is above ## 1.2.3, the version to release"},
		},
		"not published": {
			log:  goodLog + "\nNo release has been published yet.\n",
			want: []string{"CHANGELOG.md says that no release has been published yet"},
		},
		"chart": {
			chart: strings.ReplaceAll(goodChart, "1.2.3", "1.2.2"),
			want: []string{
				"charts/kubeflap/Chart.yaml: version is 1.2.2, want 1.2.3",
				"charts/kubeflap/Chart.yaml: appVersion is 1.2.2, want 1.2.3",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.MkdirAll("charts/kubeflap", 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, changelog, cmp.Or(c.log, goodLog))
			put(t, chartYAML, cmp.Or(c.chart, goodChart))
			mustGit(t, "init", "--quiet")
			mustGit(t, "add", ".")
			mustGit(t, "commit", "--quiet", "--message", "all")
			if c.tags == nil {
				c.tags = []string{"v1.2.3"}
			}
			for _, tag := range c.tags {
				mustGit(t, "tag", "--annotate", "--message", "release", tag)
			}
			if c.dirt != "" {
				put(t, c.dirt, goodLog+"\n")
			}
			got := checkTag(t.Context(), cmp.Or(c.version, "v1.2.3"))
			for i, problem := range got {
				got[i], _, _ = strings.Cut(problem, ": git tag")
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
}
