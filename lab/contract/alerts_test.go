package contract

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
)

// The scenes of each file are read and run. In days.txt, nothing may fire. The situations are those in which earlier
// rules were wrong. In the blind spots, kubeflap cannot see everything, or what it sees can be mistaken. The posts are the
// incidents of the demo. Each of them notifies once.
func TestScenes(t *testing.T) {
	for _, file := range []string{"alerts", "situations", "blind_spots", "days", "posts"} {
		for _, x := range scenes(t, file) {
			t.Run(file+"/"+x.Name, x.run)
		}
	}
}

func scenes(t *testing.T, file string) (all []*scene) {
	t.Helper()
	for _, story := range clustertest.Stories(t, "testdata/scenes", file+".txt") {
		all = append(all, sceneOf(t, story))
	}
	return all
}
