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
