package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDamageIsNotTakenForNoIncidents damages a file with two incidents. An intact file, even without incidents, must
// not count as damaged.
func TestDamageIsNotTakenForNoIncidents(t *testing.T) {
	line := func(n int, text []byte) []byte { return bytes.SplitAfter(text, []byte("\n"))[n] }
	for name, test := range map[string]struct {
		damage func(whole []byte) []byte
		want   string
		kept   int
	}{
		"intact":             {func(whole []byte) []byte { return whole }, "", 2},
		"no incidents":       {func(whole []byte) []byte { return line(0, whole) }, "", 0},
		"empty":              {func([]byte) []byte { return nil }, "the file is empty", 0},
		"garbage":            {func([]byte) []byte { return []byte("garbage") }, "1 of 1 lines cannot be read", 0},
		"other JSON":         {func([]byte) []byte { return []byte("{}\nnull\n[]\n") }, "3 of 3 lines cannot be read", 0},
		"zeros":              {func(whole []byte) []byte { return make([]byte, len(whole)) }, "1 of 1 lines cannot be read", 0},
		"many zeros":         {func([]byte) []byte { return make([]byte, 2*maxLine) }, "1 of 1 lines cannot be read", 0},
		"a full buffer of x": {func([]byte) []byte { return bytes.Repeat([]byte("x"), writeSize) }, "1 of 1 lines cannot be read", 0},
		"one bad line": {func(whole []byte) []byte {
			return slices.Concat(line(0, whole), []byte("?"), whole[len(line(0, whole)):])
		}, "1 of 3 lines cannot be read", 1},
		"cut short": {func(whole []byte) []byte { return whole[:len(whole)-9] }, "1 of 3 lines cannot be read", 1},
	} {
		path := filepath.Join(t.TempDir(), "incidents.jsonl")
		j, _ := open(t, path)
		if j.Damage(false) != "" || j.Damage(true) != "the file does not exist" {
			t.Errorf("%s: a missing file: damage %q if it is new, or else %q", name, j.Damage(false), j.Damage(true))
		}
		for _, err := range []error{j.Save(at(0), ended(), nodeLost()), j.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		whole, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, test.damage(whole), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if j, saved := open(t, path); j.Damage(true) != test.want || len(saved) != test.kept {
			t.Errorf("%s: damage %q and %d incidents, want %q and %d", name, j.Damage(true), len(saved), test.want, test.kept)
		}
	}
}

// TestLaterProcessesKnowTheLoss checks that damage is found once, and that the loss is still known after the file was
// repaired.
func TestLaterProcessesKnowTheLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	if err := os.WriteFile(path, []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, path)
	j.MarkLostUntil(at(5))
	for _, err := range []error{j.Save(at(6), nodeLost()), j.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, saved := open(t, path)
	if again.Damage(true) != "" || !again.LostUntil().Equal(at(5)) || len(saved) != 1 {
		t.Errorf("damage %q, lost until %v, %d incidents, want none, %v, one", again.Damage(true), again.LostUntil(), len(saved), at(5))
	}
}

// TestAFileThatIsDamagedInUse damages the file while it is in use. The caller must learn that it has to save all
// incidents again, and the number of displaced incidents must be kept.
func TestAFileThatIsDamagedInUse(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		path := filepath.Join(t.TempDir(), "incidents.jsonl")
		j, _ := open(t, path)
		j.size = 1
		for _, err := range []error{j.Save(at(0), ended()), j.Save(at(1), nodeLost()), j.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		j, _, err := Open(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Save(at(2), nodeLost()); err != nil || j.Removed() {
			t.Fatalf("%s: removed %v, %v", name, j.Removed(), err)
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		if err := j.Save(at(3), nodeLost()); err != nil || !j.Removed() {
			t.Errorf("%s: not noticed: %v", name, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if again, saved := open(t, path); again.Damage(true) != "" || len(saved) != 1 || again.Displaced().Count != 1 {
			t.Errorf("%s: damage %q, %d incidents, displaced %+v", name, again.Damage(true), len(saved), again.Displaced())
		}
	}
}
