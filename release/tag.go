package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

var releaseTag = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

const (
	changelog = "CHANGELOG.md"
	chartYAML = "charts/kubeflap/Chart.yaml"
)

// checkTag returns the reasons why the current commit cannot be released. The parameter version is the version that
// make would build.
func checkTag(ctx context.Context, version string) []string {
	var problems []string
	if changed, err := git(ctx, "status", "--porcelain"); err != nil {
		return []string{err.Error()}
	} else if changed != "" {
		problems = append(problems, "the work tree is not clean:\n"+changed)
	}
	tags, err := git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return append(problems, err.Error())
	}
	tag, several, _ := strings.Cut(tags, "\n")
	switch {
	case tag == "":
		return append(problems, "the commit has no tag: git tag -a vX.Y.Z")
	case several != "":
		return append(problems, fmt.Sprintf("the commit has several tags: %s", strings.ReplaceAll(tags, "\n", ", ")))
	case !releaseTag.MatchString(tag):
		return append(problems, fmt.Sprintf("the tag %s is not vX.Y.Z", tag))
	case version != tag:
		problems = append(problems, fmt.Sprintf("the tag is %s, but make builds %q", tag, version))
	}
	problems = append(problems, checkChangelog(strings.TrimPrefix(tag, "v"))...)
	problems = append(problems, checkPublished(ctx)...)
	text, err := os.ReadFile(chartYAML)
	if err != nil {
		return append(problems, err.Error())
	}
	return append(problems, checkChart(chartYAML, text, strings.TrimPrefix(tag, "v"))...)
}

// section is a version's section in the changelog.
type section struct {
	version, date string
	entries       int
}

// sections returns the sections of CHANGELOG.md, from the top.
func sections() ([]section, error) {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return nil, fmt.Errorf("read the changelog: %w", err)
	}
	var found []section
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			version, date, _ := strings.Cut(strings.TrimSpace(title), " - ")
			found = append(found, section{version: version, date: date})
		} else if strings.HasPrefix(line, "- ") && len(found) > 0 {
			found[len(found)-1].entries++
		}
	}
	return found, nil
}

// checkChangelog returns the problems of CHANGELOG.md. The first section must be named Unreleased and be empty. The
// next section must be that of the version.
func checkChangelog(version string) (problems []string) {
	found, err := sections()
	if err != nil {
		return []string{err.Error()}
	}
	wrong := func(format string, args ...any) {
		problems = append(problems, changelog+": "+fmt.Sprintf(format, args...))
	}
	if len(found) == 0 || found[0].version != "Unreleased" {
		wrong("the first section is not ## Unreleased")
	} else {
		if n := found[0].entries; n > 0 {
			wrong("## Unreleased still has %d entries", n)
		}
		found = found[1:]
	}
	i := slices.IndexFunc(found, func(s section) bool { return s.version == version })
	if i < 0 {
		wrong("there is no section ## %s - YYYY-MM-DD", version)
		return problems
	}
	if i > 0 {
		wrong("## %s is above ## %s, the version to release", found[0].version, version)
	}
	if _, err := time.Parse(time.DateOnly, found[i].date); err != nil {
		wrong("the date of ## %s is %q, not YYYY-MM-DD", version, found[i].date)
	}
	if found[i].entries == 0 {
		wrong("## %s has no entries", version)
	}
	return problems
}

// checkPublished returns a problem for each document that still says that there is no release.
func checkPublished(ctx context.Context) (problems []string) {
	// git grep fails if nothing matches.
	files, err := git(ctx, "grep", "--name-only", "--ignore-case", "no release has been published yet", "--", "*.md", "*.txt")
	if err != nil {
		return nil
	}
	for file := range strings.SplitSeq(files, "\n") {
		problems = append(problems, file+" says that no release has been published yet")
	}
	return problems
}

// about is the part of a Chart.yaml with the versions of the chart and of kubeflap.
type about struct {
	Version    string `json:"version"`
	AppVersion string `json:"appVersion"`
}

// checkChart compares the versions in a Chart.yaml with the given version. The parameter name is the name of the file
// in messages.
func checkChart(name string, text []byte, version string) (problems []string) {
	var chart about
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return []string{fmt.Sprintf("%s: %v", name, err)}
	}
	if chart.Version != version {
		problems = append(problems, fmt.Sprintf("%s: version is %s, want %s", name, chart.Version, version))
	}
	if chart.AppVersion != version {
		problems = append(problems, fmt.Sprintf("%s: appVersion is %s, want %s", name, chart.AppVersion, version))
	}
	return problems
}
