package main

import (
	"strings"
	"testing"
)

// TestAReportThatBeginsInsideAnOutage checks a report on a recording that begins while a Service has no ready address.
// node-5 is silent from 300 s to 700 s and runs the only pod of shop/single; kubeflap starts at 630 s.
func TestAReportThatBeginsInsideAnOutage(t *testing.T) {
	c := newFakeCluster(9).silence(300, 700, 5).watchedFrom(630)
	v := c.service("single", true)
	v.start(c, c.nodes[4]).serve()
	v.fill()
	w := newStoryWatcher(t, c)
	w.runUntil(900)
	if err := w.writer.Close(); err != nil {
		t.Fatal(err)
	}
	const none = "No Service was without a ready address."
	for _, x := range []struct {
		args []string
		has  []string
		not  string
	}{
		{nil, []string{
			"At the start of the recording (2026-03-01 12:10:30.0 UTC), 1 Service had no ready address: shop/single (until 2026-03-01 12:11:4",
			"At the start of the recording, 1 node was not Ready: node-5 (until 2026-03-01 12:11:4", "No other Service was without a ready address.",
		}, none},
		{[]string{"--from=2026-03-01T12:13:00Z"}, []string{"kubeflap saw no incidents in this period"}, "At the start"},
		{[]string{"--service=shop/single"}, []string{"1 Service had no ready address: shop/single"}, none},
		{[]string{"--node=node-5"}, []string{"1 node was not Ready: node-5", "No Service lost its last ready address."}, none},
	} {
		out := strings.ReplaceAll(must(t, append([]string{"report", "--recording", w.file}, x.args...)...), `\`, "")
		for _, want := range x.has {
			if !strings.Contains(out, want) {
				t.Errorf("%q: there is no %q in\n%.1500s", x.args, want, out)
			}
		}
		if strings.Contains(out, x.not) {
			t.Errorf("%q: there is %q in\n%.1500s", x.args, x.not, out)
		}
	}
	if out := must(t, "whatif", "--recording", w.file); !strings.Contains(out, "- Outages that began before the recording: 1.") {
		t.Errorf("the predictions do not mention the outage:\n%s", out)
	}
}

// TestAReportOfADirectoryReadsFurtherBack checks that a report on a period inside a long outage describes the outage,
// if the directory contains its start. node-5, with the only pod of shop/single, is silent from 600 s on.
func TestAReportOfADirectoryReadsFurtherBack(t *testing.T) {
	withoutRaceDetector(t)
	c := newFakeCluster(9).silence(600, forever, 5)
	v := c.service("single", true)
	v.start(c, c.nodes[4]).serve()
	v.fill()
	w := newStoryWatcher(t, c)
	w.runUntil(3000)
	if err := w.writer.Close(); err != nil {
		t.Fatal(err)
	}
	dir := recordedIn(t, w.file)
	for _, args := range [][]string{{"--service=shop/single"}, {"--node=node-5"}, nil} {
		out := must(t, append([]string{"report", "--recording", dir, "--from=2026-03-01T12:40:00Z"}, args...)...)
		for _, want := range []string{"# Post-mortem: node node-5", "`node`: the other 8 nodes sent their heartbeats on time", "shop/single has had none for 39m", "The table counts all nodes and Services from 2026-03-01 12:30:00"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q: there is no %q in\n%.1500s", args, want, out)
			}
		}
		for _, wrong := range []string{"when kubeflap started", "At the start of the recording"} {
			if strings.Contains(out, wrong) {
				t.Errorf("%q: there is %q in\n%.1500s", args, wrong, out)
			}
		}
	}
}
