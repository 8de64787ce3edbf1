package listing

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// TestFind also covers the IDs of incidents that were merged into another one. No table shows these IDs.
func TestFind(t *testing.T) {
	answer := &api.Answer{Incidents: []api.Incident{
		{ID: "aa11"}, {ID: "ab22", Also: []string{"aa33", "cc44", "cc45"}}, {ID: "ab55", Also: []string{"cd66"}}, {ID: "aa11-2"}, {ID: "ee77", Also: []string{"aa88", "cd99"}},
	}}
	for _, c := range []struct{ prefix, id, err string }{
		{"ab2", "ab22", ""},
		{"ab22", "ab22", ""},
		{"aa11", "aa11", ""},
		{"aa11-", "aa11-2", ""},
		{"aa3", "ab22", ""},
		{"cc", "ab22", ""},
		{"e", "ee77", ""},
		{"cd9", "ee77", ""},
		{"aa", "", "several incidents have an ID that begins with aa: aa11, aa11-2"},
		{"ab", "", "several incidents have an ID that begins with ab: ab22, ab55"},
		{"cd", "", "several incidents have an ID that begins with cd: cd66, cd99"},
		{"ff", "", "none of 5 incidents has an ID that begins with ff; kubeflap drops the oldest incidents (--incidents.size)"},
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
