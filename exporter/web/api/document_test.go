package api

import (
	"testing"
)

// TestFind also covers the other IDs of incidents. No table shows these IDs.
func TestFind(t *testing.T) {
	answer := &Answer{Incidents: []Incident{
		{ID: "00aa11"}, {ID: "00ab22", Also: []string{"00aa33", "00cc44", "00cc45"}}, {ID: "00ab55", Also: []string{"00cd66"}}, {ID: "00aa12"}, {ID: "00ee77", Also: []string{"00aa88", "00cd99"}},
	}}
	for _, c := range []struct{ prefix, id, err string }{
		{"00ab2", "00ab22", ""},
		{"00ab22", "00ab22", ""},
		{"00aa11", "00aa11", ""},
		{"00aa12", "00aa12", ""},
		{"00aa3", "00ab22", ""},
		{"00cc", "00ab22", ""},
		{"00ee", "00ee77", ""},
		{"00cd9", "00ee77", ""},
		{"00aa", "", "several incidents have an ID that begins with 00aa: 00aa11, 00aa12"},
		{"00ab", "", "several incidents have an ID that begins with 00ab: 00ab22, 00ab55"},
		{"00cd", "", "several incidents have an ID that begins with 00cd: 00ab55, 00ee77"},
		{"00e", "", `"00e" is not an incident's ID: enter at least the first 4 characters of the ID`},
		{"00ff", "", "none of 5 incidents has an ID that begins with 00ff; kubeflap drops the oldest incidents (--incidents.size)"},
	} {
		x, err := Find(answer, c.prefix)
		switch {
		case c.err != "":
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %s", c.prefix, err, c.err)
			}
		case err != nil || x.ID != c.id:
			t.Errorf("%s: %v, %v, want %s", c.prefix, x, err, c.id)
		}
	}
}
