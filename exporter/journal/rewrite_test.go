package journal

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
)

// TestRewritesKeepTheNewestStates saves random incidents of different sizes, some of which merge others, until the file
// has been rewritten several times. After each rewrite, the file must contain the newest state of each incident that
// fits.
func TestRewritesKeepTheNewestStates(t *testing.T) {
	const size = 20
	random := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _, err := Open(path, size)
	if err != nil {
		t.Fatal(err)
	}
	model, displaced, rewrites := contents{saved: map[string]archive.Saved{}, lines: lines{}}, incident.Displaced{}, 0
	for i := range 150 {
		now := at(float64(i))
		x := nodeLost()
		n := i/3 + random.IntN(10)
		x.ID, x.Start = fmt.Sprintf("%016x", n), at(float64(n))
		x.Summary = strings.Repeat(string(rune('a'+i%26)), random.IntN(200_000))
		if random.IntN(2) == 0 {
			x.State, x.End = incident.StateEnded, now
		}
		if random.IntN(20) == 0 {
			x.Also = []string{fmt.Sprintf("%016x", n-1-random.IntN(3))}
		}
		before := j.rewritten
		if err := j.Save(now, x); err != nil {
			t.Fatal(err)
		}
		if j.rewritten != before && before > 0 {
			// The save that follows a rewrite is not part of it.
			rewrites++
			kept, dropped := model.newest(size)
			displaced.Add(dropped)
			model = contents{saved: map[string]archive.Saved{}, lines: lines{}}
			for _, s := range kept {
				model.saved[s.Incident.ID], model.lines[s.Incident.ID] = s, lineOf(&s, 0, 0)
			}
		}
		s := archive.Saved{Time: now, Incident: x}
		model.saved[x.ID], model.lines[x.ID] = s, lineOf(&s, 0, 0)
		if j.rewritten == before {
			continue
		}
		found, err := load(path)
		if err != nil || found.damaged > 0 || found.Displaced != displaced || !reflect.DeepEqual(found.saved, model.saved) {
			t.Fatalf("after save %d: %d damaged lines, displaced %+v, want %+v; incidents %v, want %v: %v", i, found.damaged, found.Displaced, displaced, ids(found.saved), ids(model.saved), err)
		}
	}
	if rewrites < 3 {
		t.Errorf("the file was rewritten %d times, want at least 3", rewrites)
	}
}

func ids(all map[string]archive.Saved) (ids []string) {
	for id := range all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
