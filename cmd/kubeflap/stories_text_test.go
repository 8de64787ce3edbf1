package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
)

var (
	storyBegin = clustertest.Begin
	seconds    = clustertest.Seconds
)

// readStories reads the stories of some files in testdata/stories, which a README.md there describes.
func readStories(t testing.TB, files ...string) (all []scenario) {
	t.Helper()
	for _, file := range files {
		for _, x := range clustertest.Stories(t, "testdata/stories", file+".txt") {
			all = append(all, scenarioOf(t, x))
		}
	}
	return all
}

// scenarioOf reads what kubeflap is expected to show in a story.
func scenarioOf(t testing.TB, story clustertest.Story) (x scenario) {
	t.Helper()
	x.Story, x.restarts = story, story.Others
	for _, a := range x.restarts {
		if a.Verb != "restart" && a.Verb != "segment" {
			t.Fatalf("%s: nothing can %s", x.Name, a.Verb)
		}
	}
	slices.SortStableFunc(x.restarts, func(a, b clustertest.Act) int { return cmp.Compare(a.At, b.At) })
	for _, n := range story.Notes {
		x.note(t, n.Word, n.Text)
	}
	return x
}

// note reads a line that does not begin with a time.
func (x *scenario) note(t testing.TB, word, rest string) {
	t.Helper()
	switch word {
	case "open":
		x.open = rest
	case "shows":
		x.evidence = append(x.evidence, rest)
	case "lacks":
		x.lacks = append(x.lacks, rest)
	case "over":
		x.over = true
	case "advice":
		x.advice = rest
	case "recommends":
		x.recommends = numbers(t, rest)
	case "unclear":
		x.unclear = rest
	case "looks":
		x.looks = numbers(t, rest)
	case "keeps":
		x.size = int(numbers(t, rest)[0])
	case "killed":
		x.killed = true
	case "unknown":
		x.unknown = rest
	case "steady":
		x.steady = true
	default:
		t.Fatalf("%s: no line begins with %s", x.Name, word)
	}
}

func numbers(t testing.TB, text string) (all []float64) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}
