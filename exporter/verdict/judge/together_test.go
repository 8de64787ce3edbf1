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

// naiveGroup returns the largest group of silences that began within one interval on different nodes, or the first of
// several. It tries each silence as the first one of the group.
func naiveGroup(all silence.List, interval time.Duration) (most silence.List) {
	for _, first := range silence.ByBegan(all) {
		var group silence.List
		for _, s := range silence.ByBegan(all) {
			since := s.Began.Sub(first.Began)
			if (since > 0 || since == 0 && s.Node >= first.Node) && since <= interval && !slices.ContainsFunc(group, func(x *silence.Silence) bool { return x.Node == s.Node }) {
				group = append(group, s)
			}
		}
		if len(group) > len(most) {
			most = group
		}
	}
	return most
}

// naiveOf returns an incident's largest group.
func naiveOf(f *NodeLoss) silence.List {
	isNear := func(s *silence.Silence) bool {
		return slices.ContainsFunc(f.Silences, func(x *silence.Silence) bool { return s.Node != x.Node && s.Began.Sub(x.Began).Abs() <= f.Interval })
	}
	var near silence.List
	for _, s := range append(slices.Clone(f.Silences), f.Recent...) {
		if f.isDisturbed(s) && !s.BeganBlind && (slices.Contains(f.Silences, s) || isNear(s)) {
			near = append(near, s)
		}
	}
	return naiveGroup(near, f.Interval)
}

// naiveAlone removes one group after the other, largest first.
func naiveAlone(f *NodeLoss) (alone silence.List) {
	rest := slices.DeleteFunc(slices.Clone(f.Recent), func(s *silence.Silence) bool { return !f.isDisturbed(s) })
	for {
		group := naiveGroup(rest, f.Interval)
		if len(group) < 2 {
			return append(alone, rest...)
		}
		if holds, _ := prepare(f).oneCause(group); holds == no {
			alone = append(alone, group...)
		}
		rest = slices.DeleteFunc(rest, func(s *silence.Silence) bool { return slices.Contains(group, s) })
	}
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
		if got, want := namesOf(prepare(f).independent()), namesOf(naiveAlone(f)); got != want {
			t.Errorf("seed %d: alone are %s\nwant %s", seed, got, want)
		}
		some := []silence.List{all[:1+len(all)/3], all}
		for i := range all {
			some = append(some, all[i:i+1])
		}
		for _, f.Silences = range some {
			if got, want := namesOf(prepare(f).largestGroup()), namesOf(naiveOf(f)); got != want {
				t.Errorf("seed %d: of %s\nthe largest group is %s\nwant %s", seed, namesOf(f.Silences), got, want)
			}
		}
	}
}
