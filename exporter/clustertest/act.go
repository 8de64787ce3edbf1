package clustertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Act is what happens in a cluster at a second, and until when.
type Act struct {
	At, Until float64
	Verb      string
	Args      []string
	Reason    event.Reason
}

// Ends reports whether the act has an end.
func (a Act) Ends() bool { return a.Until < forever }

func (a Act) span() span { return span{a.At, a.Until} }

// Shift returns the act with its first argument as its verb.
func (a Act) Shift() Act {
	a.Verb, a.Args = a.Args[0], a.Args[1:]
	return a
}

// Later returns the act at a later time.
func (a Act) Later(seconds float64) Act {
	if a.At += seconds; a.Ends() {
		a.Until += seconds
	}
	return a
}

// rest returns the act without its first arguments.
func (a Act) rest(from int) Act {
	a.Args = a.Args[min(from, len(a.Args)):]
	return a
}

// numbers returns the numbers with which the arguments begin.
func (a Act) numbers() (all []float64) {
	for _, word := range a.Args {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

func (a Act) ints() (all []int) {
	for _, n := range a.numbers() {
		all = append(all, int(n))
	}
	return all
}

// Number returns the number after a word.
func (a Act) Number(word string) float64 {
	return a.rest(slices.Index(a.Args, word) + 1).numbers()[0]
}

// every returns the period that the arguments name, or the given one.
func (a Act) every(seconds float64) time.Duration {
	if slices.Contains(a.Args, "every") {
		seconds = a.Number("every")
	}
	return Seconds(seconds)
}

// word returns an argument, or nothing.
func (a Act) word(i int) string {
	if i < len(a.Args) {
		return a.Args[i]
	}
	return ""
}

func (a Act) last() string { return a.Args[len(a.Args)-1] }

// duration returns an argument, such as -1h.
func (a Act) duration(i int) time.Duration {
	d, err := time.ParseDuration(a.word(i))
	a.expect(err)
	return d
}

// expect ends the test if an argument is wrong, and names the line of the story.
func (a Act) expect(err error) {
	if err != nil {
		panic(fmt.Sprintf("wrong line of a story: %g %s %s: %v", a.At, a.Verb, strings.Join(a.Args, " "), err))
	}
}

// kinds returns the resources that the arguments name.
func (a Act) kinds() (all []event.Kind) {
	for _, word := range a.Args {
		if word == "all" {
			return allKinds()
		}
		var k event.Kind
		a.expect(k.UnmarshalText([]byte(word)))
		all = append(all, k)
	}
	return all
}

// pods returns the pods that the first argument names: web/2 is the second pod of the Service web, and web/* are all.
func (a Act) pods(c *Cluster) []*Pod {
	name, number, _ := strings.Cut(a.word(0), "/")
	all := c.named(name).Pods
	if number == "*" {
		return slices.Clone(all)
	}
	i, err := strconv.Atoi(number)
	a.expect(err)
	return all[i-1 : i : i]
}
