package track

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var update = flag.Bool("update", false, "write what the tracker says into the stories instead of comparing with them")

// TestStories plays the stories in testdata, which testdata/README.md describes. Each must read as it is written, with all
// transitions and states.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var played []string
		beginnings := map[string][]string{}
		for _, want := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			got := playText(t, want, beginnings)
			played = append(played, got)
			if title, _, _ := strings.Cut(want, "\n"); got != want && !*update {
				t.Errorf("%s, %s:\n%s", file, title, firstDifference(got, want))
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(played, "\n\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// firstDifference returns the first line that differs, and the lines before it.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(g), len(w)) && g[i] == w[i] {
		i++
	}
	return fmt.Sprintf("%s\ngot  %q\nwant %q", strings.Join(g[max(0, i-6):i], "\n"), append(g, "")[i], append(w, "")[i])
}

// teller plays a story that is written as text.
type teller struct {
	*story
	settings Settings
	out      []string
	// known holds the newest state of each object, and shown what the last line about a state said.
	known map[string]event.Object
	shown map[string][]field
	// list is the resource that is being listed, and begins is set while all are.
	list   event.Kind
	begins string
	first  []string
	// again holds the lines that are repeated: n times, with a distance in seconds. late is by how much the current time is
	// later than it is written.
	again    []string
	n        int
	distance float64
	late     float64
	told     int
	triggers []string
	// heard holds the interval of the last heartbeat of a node that was told.
	heard map[string]time.Duration
	// beginnings holds the objects with which stories of a file begin, by name.
	beginnings map[string][]string
}

// playText plays a story, and returns its text with what the tracker says now.
func playText(t *testing.T, text string, beginnings map[string][]string) string {
	p := &teller{
		story: &story{t: t}, settings: grace40, late: -1,
		known: map[string]event.Object{}, heard: map[string]time.Duration{}, beginnings: beginnings,
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  >") || strings.HasPrefix(line, "  =") {
			continue
		}
		if !strings.HasPrefix(line, "    ") {
			p.endList()
		}
		p.out = append(p.out, line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "===") {
			p.does(strings.Fields(line))
		}
	}
	p.endList()
	if p.Tracker != nil {
		p.look()
	}
	return strings.Join(p.out, "\n")
}

func (p *teller) does(words []string) {
	if words[0] == "settings" {
		for _, x := range words[1:] {
			assign(&p.settings, x)
		}
		return
	}
	if p.Tracker == nil {
		*p.story = *newStory(p.t, p.settings)
	}
	if words[0] == "repeat" {
		p.n, _ = strconv.Atoi(words[1])
		p.distance, _ = strconv.ParseFloat(words[3], 64)
		return
	}
	if p.n > 0 && p.late < 0 {
		p.again = append(p.again, strings.Join(words, " "))
		return
	}
	if words[0] == "start" {
		p.begins = strings.Join(words, " ")
		return
	}
	if p.begins != "" {
		p.first = append(p.first, strings.Join(words, " "))
		return
	}
	if second, err := strconv.ParseFloat(words[0], 64); err == nil {
		p.at(second + max(p.late, 0))
		words = words[1:]
	}
	switch {
	case p.list != 0:
		p.is(event.Listed, p.object(words))
	case len(words) == 0:
		p.Advance(p.now)
	case words[0] == "?":
		p.look()
	case words[0] == "counting":
		p.StartCounting(p.now)
	case words[0] == "settle":
		p.Settle()
	case words[0] == "coverage":
		p.out = append(p.out, "  = "+coverageText(p.Coverage(p.now)))
	case words[0] == "list":
		p.list = kindOf[words[1]]
		p.watch(event.Listing, p.list)
	default:
		p.event(words)
	}
	p.tell()
}

func (p *teller) endList() {
	if p.begins != "" {
		if p.first == nil && p.begins != "start" {
			p.first = p.beginnings[p.begins]
			if p.first == nil {
				p.t.Fatalf("%s is not defined before", p.begins)
			}
		}
		p.beginnings[p.begins] = p.first
		var all []event.Object
		for _, line := range p.first {
			all = append(all, p.object(strings.Fields(line)))
		}
		p.begins = ""
		p.starts(all...)
		p.tell()
		p.shown = p.states()
	}
	if p.list != 0 {
		p.watch(event.Synced, p.list)
		p.list = 0
		p.tell()
	}
	p.repeats()
}

// repeats plays the lines that are to be repeated.
func (p *teller) repeats() {
	lines, n := p.again, p.n
	p.again, p.n = nil, 0
	for i := range n {
		p.late = float64(i) * p.distance
		for _, line := range lines {
			p.does(strings.Fields(line))
		}
	}
	p.late = -1
}

// event is a change of an object, such as "pod web-1 ready=false", or of watches, such as "down pod lease: timeout".
func (p *teller) event(words []string) {
	var typ event.Type
	if typ.UnmarshalText([]byte(words[0])) != nil {
		typ = event.Modified
		if p.known[words[0]+" "+words[1]] == nil {
			typ = event.Added
		}
		words = slices.Insert(words, 0, "")
	}
	if typ.HasObject() {
		p.is(typ, p.object(words[1:]))
		return
	}
	kinds, reason, _ := strings.Cut(strings.Join(words[1:], " "), ":")
	all := event.Kinds()
	if kinds != "all" {
		all = nil
		for _, k := range strings.Fields(kinds) {
			all = append(all, kindOf[k])
		}
	}
	p.breaksAs(typ, event.Reason(strings.TrimSpace(reason)), all...)
}

func (s *story) breaksAs(typ event.Type, reason event.Reason, kinds ...event.Kind) {
	for _, k := range kinds {
		s.Apply(event.Event{Seen: s.now, Kind: k, Type: typ, Reason: reason})
	}
}
