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
			t.Errorf("%s on %q: got release %q, want %q (error %v)", c.name, c.release, s.Options.Release, c.want, err)
		}
	}
	if _, err := Find("kubelet-restart", cluster.Newest); err == nil {
		t.Error("no error for kubelet-restart on the newest release, where the restart has no effect")
	}
	if _, err := Find("no-such", ""); err == nil {
		t.Error("no error for an unknown scenario")
	}
}
