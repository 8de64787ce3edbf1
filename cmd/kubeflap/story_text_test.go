package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// readStories reads the stories of some files in testdata/stories, which a README.md there describes.
func readStories(t testing.TB, files ...string) (all []scenario) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata/stories", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			for _, told := range eachOf(one) {
				all = append(all, parseStory(t, told))
			}
		}
	}
	return all
}

// eachOf returns a copy of a story for each row of the table at its end.
func eachOf(text string) (all []string) {
	text, table, found := strings.Cut(text, "\neach ")
	if !found {
		return []string{text}
	}
	rows := strings.Split(table, "\n")
	for _, row := range rows[1:] {
		told := text
		for i, value := range strings.Split(row, "|") {
			told = strings.ReplaceAll(told, "$"+strings.Fields(rows[0])[i], strings.TrimSpace(value))
		}
		all = append(all, told)
	}
	return all
}

// told returns a cluster in which what the lines tell will happen.
func told(t testing.TB, lines string) *fakeCluster {
	t.Helper()
	x := parseStory(t, strings.ReplaceAll(lines, "; ", "\n"))
	return x.cluster()
}

func parseStory(t testing.TB, text string) (x scenario) {
	t.Helper()
	times, apart := 0, 0.0
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		second, err := strconv.ParseFloat(word, 64)
		switch {
		case word == "repeat":
			times, apart = act{args: strings.Fields(rest)}.ints()[0], act{args: strings.Fields(rest)[2:]}.numbers()[0]
		case err != nil:
			x.note(t, word, rest)
		case strings.HasPrefix(line, "    "):
			for i := range times {
				x.happens(second, float64(i)*apart, strings.ReplaceAll(rest, "$i", strconv.Itoa(i+1)))
			}
		default:
			x.happens(second, 0, rest)
		}
	}
	slices.SortStableFunc(x.restarts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return x
}

// note reads a line that does not begin with a time.
func (x *scenario) note(t testing.TB, word, rest string) {
	t.Helper()
	switch words := (act{args: strings.Fields(rest)}); word {
	case "===":
		x.name = rest
	case "start":
		x.nodes = words.ints()[0]
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
		x.recommends = words.numbers()
	case "unclear":
		x.unclear = rest
	case "looks":
		x.looks = words.numbers()
	case "keeps":
		x.size = words.ints()[0]
	case "killed":
		x.killed = true
	case "unknown":
		x.unknown = rest
	case "steady":
		x.steady = true
	case "#":
	default:
		t.Fatalf("%s: no line begins with %s", x.name, word)
	}
}

// happens reads a line that begins with a time. All times are later by some seconds.
func (x *scenario) happens(second, later float64, text string) {
	if want, ok := strings.CutPrefix(text, "?"); ok {
		x.expected = append(x.expected, expectation{second, strings.TrimSpace(want)})
		return
	}
	text, reason, _ := strings.Cut(text, ": ")
	a := act{at: second + later, until: forever, reason: event.Reason(reason)}
	text, until, found := strings.Cut(text, " until ")
	if found {
		a.until = act{args: []string{until}}.numbers()[0] + later
	}
	a.args = strings.Fields(text)
	a.verb, a.args = a.args[0], a.args[1:]
	if a.verb == "restart" || a.verb == "segment" {
		x.restarts = append(x.restarts, a)
		return
	}
	x.acts = append(x.acts, a)
}

// cluster returns a new cluster in which the story will happen.
func (x *scenario) cluster() *fakeCluster {
	s := newFakeCluster(x.nodes)
	for _, a := range x.acts {
		verbs[a.verb](s, a)
	}
	return s
}

// act is what happens in a fake cluster at a second, and until when.
type act struct {
	at, until float64
	verb      string
	args      []string
	reason    event.Reason
}

// numbers returns the numbers with which the arguments begin.
func (a act) numbers() (all []float64) {
	for _, word := range a.args {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

func (a act) ints() (all []int) {
	for _, n := range a.numbers() {
		all = append(all, int(n))
	}
	return all
}

// number returns the number after a word.
func (a act) number(word string) float64 {
	return act{args: a.args[slices.Index(a.args, word)+1:]}.numbers()[0]
}

// word returns an argument, or nothing.
func (a act) word(i int) string {
	if i < len(a.args) {
		return a.args[i]
	}
	return ""
}

// duration returns an argument, such as -1h.
func (a act) duration(i int) time.Duration {
	d, err := time.ParseDuration(a.word(i))
	if err != nil {
		panic(err)
	}
	return d
}

// kinds returns the resources that the arguments name.
func (a act) kinds() (all []event.Kind) {
	for _, word := range a.args {
		if word == "all" {
			return append(event.Kinds(), event.OptionalKinds()...)
		}
		var k event.Kind
		if err := k.UnmarshalText([]byte(word)); err != nil {
			panic(err)
		}
		all = append(all, k)
	}
	return all
}

// pods returns the pods that the first argument names: web/2 is the second pod of the Service web, and web/* are all.
func (a act) pods(s *fakeCluster) []*fakePod {
	name, number, _ := strings.Cut(a.word(0), "/")
	all := s.named(name).pods
	if number == "*" {
		return slices.Clone(all)
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return all[i-1 : i : i]
}
