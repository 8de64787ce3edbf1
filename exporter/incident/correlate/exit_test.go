package correlate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

func TestAnExitChangesTheReportedIncident(t *testing.T) {
	ready, unready, exited := aPod("web-1", event.StatusTrue, ""), aPod("web-1", event.StatusFalse, "ContainersNotReady"), aPod("web-1", event.StatusFalse, "ContainersNotReady")
	unready.Containers[0].Ready, exited.Containers[0].Ready = false, false
	exited.Containers[0].Restarts, exited.Containers[0].LastReason, exited.Containers[0].LastExitCode = 1, "OOMKilled", 137
	b := newTracked(grace40).starts(aNode("node-1"), aService("web", "s", true), ready, aSlice("s", "web-1"))
	var heard []string
	until := func(at float64) {
		b.asOf(at)
		for _, n := range b.log.Notices(zero.Add(seconds(at))) {
			heard = append(heard, fmt.Sprintf("%d %s", n.Kind, n.Incident.Cause))
		}
	}
	b.at(10).is(event.Modified, unready).at(10.1).is(event.Modified, aSlice("s", "-web-1"))
	until(20)
	b.at(30).is(event.Modified, exited)
	until(40)
	b.at(50).is(event.Modified, ready).at(50.1).is(event.Modified, aSlice("s", "web-1"))
	until(400)
	want := fmt.Sprintf("%d probe_failed, %d container_exit, %d container_exit", incident.Started, incident.Changed, incident.Ended)
	equal(t, "notices", strings.Join(heard, ", "), want)
}
