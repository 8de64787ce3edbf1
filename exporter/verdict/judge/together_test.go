package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
)

// naiveGroup returns the largest group of silences that began within one interval of one of them, or the first of several.
// This one is near a silence of another list.
func naiveGroup(all, near silence.List, interval time.Duration) (most silence.List) {
	within := func(some silence.List, s *silence.Silence) silence.List {
		return some.Filter(func(x *silence.Silence) bool { return s.Began.Sub(x.Began).Abs() <= interval })
	}
	for _, s := range silence.ByBegan(all) {
		if group := within(silence.ByBegan(all), s); len(group) > len(most) && len(within(near, s)) > 0 {
			most = group
		}
	}
	return most.OfEachNode()
}

// naiveOf returns an incident's largest group.
func naiveOf(f *NodeLoss) silence.List {
	all := slices.Clone(f.Recent)
	for _, s := range f.Silences {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return naiveGroup(all.Filter(f.isGroupable), f.Silences.Filter(f.isGroupable), f.Interval)
}

// naiveAlone removes one group after the other, largest first.
func naiveAlone(f *NodeLoss) (alone silence.List) {
	rest := slices.DeleteFunc(slices.Clone(f.Recent), func(s *silence.Silence) bool { return !f.isDisturbed(s) })
	for len(rest) > 0 {
		group := naiveGroup(rest, rest, f.Interval)
		if holds, _ := f.prepared().oneCause(group, false); holds == no {
			alone = append(alone, group...)
		}
		rest = slices.DeleteFunc(rest, func(s *silence.Silence) bool { return slices.Contains(group, s) })
	}
	return alone
}

func namesOf(all silence.List) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, fmt.Sprintf("%s since %v", s.Node, s.Began.Sub(zero)))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func TestGroupsAreThoseThatANaiveSearchFinds(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all silence.List
		for i := range 1 + r.IntN(30) {
			began := at(r.Float64() * 100)
			for range 1 + r.IntN(3) {
				s := &silence.Silence{Node: fmt.Sprintf("node-%d", i), Began: began.Round(time.Second), BeganBlind: r.IntN(20) == 0}
				s.Ended = s.Began.Add(time.Duration(8+r.IntN(80)) * time.Second)
				began = s.Ended.Add(time.Duration(r.IntN(100)) * time.Second)
				all = append(all, s)
			}
		}
		f := loss(30, all)
		if got, want := namesOf(f.prepared().independent()), namesOf(naiveAlone(f)); got != want {
			t.Errorf("seed %d: alone are %s\nwant %s", seed, got, want)
		}
		some := []silence.List{all[:1+len(all)/3], all}
		for i := range all {
			some = append(some, all[i:i+1])
		}
		for _, f.Silences = range some {
			if got, want := namesOf(weigh(f).largestGroup()), namesOf(naiveOf(f)); got != want {
				t.Errorf("seed %d: of %s\nthe largest group is %s\nwant %s", seed, namesOf(f.Silences), got, want)
			}
		}
	}
}
