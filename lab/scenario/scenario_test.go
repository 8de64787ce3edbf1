package scenario

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

func TestAScenarioIsFoundAsItIsOnARelease(t *testing.T) {
	for _, c := range []struct {
		name          string
		release, want cluster.Release
	}{
		{"heartbeat-loss", "", cluster.Newest},
		{"heartbeat-loss", cluster.Oldest, cluster.Oldest},
		{"kubelet-restart", "", cluster.Oldest},
		{"kubelet-restart", cluster.Oldest, cluster.Oldest},
		{"leases-silent", "", cluster.Newest},
	} {
		s, err := Find(c.name, c.release)
		if err != nil || s.Name != c.name || s.Options.Release != c.want {
			t.Errorf("%s on %q is of %q, want %q (%v)", c.name, c.release, s.Options.Release, c.want, err)
		}
	}
	if _, err := Find("kubelet-restart", cluster.Newest); err == nil {
		t.Error("a kubelet's restart costs nothing on the newest release, and yet the scenario is found")
	}
	if _, err := Find("no-such", ""); err == nil {
		t.Error("a scenario is found that does not exist")
	}
}
