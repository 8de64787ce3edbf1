package clustertest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Story tells what happens in a cluster.
type Story struct {
	Name string
	// Acts is what happens. Others are the acts for which this package has no word.
	Acts, Others []Act
	// Asks are the questions of the story.
	Asks []Ask
	// Notes are the lines that do not begin with a time.
	Notes []Note
	nodes int
	// shop is set if the cluster has the Deployments of a shop.
	shop bool
}

// Ask asks for what is to be seen at a second.
type Ask struct {
	At   float64
	Want string
}

// Note is a line about the story.
type Note struct{ Word, Text string }

// Stories reads the stories of a file.
func Stories(t testing.TB, path ...string) (all []Story) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		for _, told := range eachOf(one) {
			all = append(all, Parse(told))
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

// Parse reads a story.
func Parse(text string) Story {
	x := Story{nodes: 6, shop: true}
	times, apart := 0, 0.0
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		second, err := strconv.ParseFloat(word, 64)
		switch {
		case word == "repeat":
			words := Act{Args: strings.Fields(rest)}
			times, apart = words.ints()[0], words.Number("every")
		case err != nil:
			x.note(word, rest)
		case strings.HasPrefix(line, "    "):
			for i := range times {
				x.happens(second, float64(i)*apart, strings.ReplaceAll(rest, "$i", strconv.Itoa(i+1)))
			}
		default:
			x.happens(second, 0, rest)
		}
	}
	return x
}

// note reads a line that does not begin with a time.
func (x *Story) note(word, rest string) {
	switch word {
	case "===":
		x.Name = rest
	case "start":
		x.nodes, x.shop = Act{Args: strings.Fields(rest)}.ints()[0], false
	case "nodes":
		x.nodes = Act{Args: strings.Fields(rest)}.ints()[0]
	case "#":
	default:
		x.Notes = append(x.Notes, Note{word, rest})
	}
}

// happens reads a line that begins with a time. All times are later by some seconds.
func (x *Story) happens(second, later float64, text string) {
	if want, ok := strings.CutPrefix(text, "?"); ok {
		x.Asks = append(x.Asks, Ask{second, strings.TrimSpace(want)})
		return
	}
	text, reason, _ := strings.Cut(text, ": ")
	a := Act{At: second + later, Until: forever, Reason: event.Reason(reason)}
	if before, until, found := strings.Cut(text, " until "); found {
		text, a.Until = before, Act{Args: []string{until}}.numbers()[0]+later
	}
	if before, lasts, found := strings.Cut(text, " for "); found {
		text, a.Until = before, a.At+Act{Args: []string{lasts}}.numbers()[0]
	}
	a.Args = strings.Fields(text)
	a = a.Shift()
	if verbs[a.Verb] == nil && watcherVerbs[a.Verb] == nil {
		x.Others = append(x.Others, a)
		return
	}
	x.Acts = append(x.Acts, a)
}

// Told returns a cluster in which what the lines tell will happen. They are separated by semicolons.
func Told(lines string) *Cluster {
	x := Parse(strings.ReplaceAll(lines, "; ", "\n"))
	return x.Cluster(0)
}

// Cluster returns a new cluster in which the story will happen. The story begins some seconds after the cluster.
func (x *Story) Cluster(later float64) *Cluster {
	c := New(1, 2)
	for range x.nodes {
		c.AddNode()
	}
	if x.shop {
		c.addShop()
	} else {
		c.addServices()
	}
	for _, a := range x.Acts {
		a = a.Later(later)
		if do := verbs[a.Verb]; do != nil {
			do(c, a)
		} else {
			c.Watchers[0].Does(a)
		}
	}
	return c
}

// addServices adds the Service web with a pod on each node, and the Service cart with pods on the first two.
func (c *Cluster) addServices() {
	web, cart := c.Service("shop", "web", true), c.Service("shop", "cart", true)
	for i, n := range c.Nodes {
		web.Start(n).Serve()
		if i < 2 {
			cart.Start(n).Serve()
		}
	}
	web.Fill()
	cart.Fill()
}

// addShop adds Deployments and a DaemonSet. Of six nodes, the first three have a pod of web, the others one of cart, the
// first five one of search, the last one that of store, and the first two one of mail.
func (c *Cluster) addShop() {
	c.Version, c.grace = "v1.36.3", 50*time.Second
	for i, name := range []string{"web", "cart", "search", "store", "mail"} {
		c.deploy(name, []int{3, 3, 5, 1, 2}[i])
	}
	c.daemons("monitoring", "exporter")
}
