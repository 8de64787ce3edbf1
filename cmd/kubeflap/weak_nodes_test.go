package main

import (
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// TestARestartAmongWeakNodesChangesNoVerdict restarts kubeflap in the stories of weak nodes. How often they fell silent
// before must still count.
func TestARestartAmongWeakNodesChangesNoVerdict(t *testing.T) {
	withoutRaceDetector(t)
	for _, x := range readStories(t, "weak_nodes") {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			last := x.expected[len(x.expected)-1]
			r := startRestarted(&restarted{t: t, cluster: x.cluster(), size: 500})
			r.runUntil(0.7 * last.at)
			r.restart(0.7*last.at + 3)
			r.runUntil(last.at)
			var all []pageIncident
			for _, x := range web.Answer([]web.Cluster{r.pipeline.cluster("")}, &api.Query{}).Incidents {
				if x.Verdict == verdict.SharedPath {
					all = append(all, pageIncident{x})
				}
			}
			if got := textOf(all); got != "" && !strings.Contains(last.want, got) || got == "" && strings.Contains(last.want, "shared_path") {
				t.Errorf("%q, want %q", got, last.want)
			}
		})
	}
}
