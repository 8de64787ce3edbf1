package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/coverage"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestASecondProcessReportsOnceThatItCannotSave starts a second process on the directory of a running one. Until the
// first process ends, the second one must report only once that it cannot save. Its coverage must not say that no
// kubeflap was running.
func TestASecondProcessReportsOnceThatItCannotSave(t *testing.T) {
	c := newFakeCluster(9).silence(300, 450, 5)
	first := newRestarted(t, c)
	first.runUntil(100)
	second := *first
	var log bytes.Buffer
	second.log = slog.New(slog.NewTextHandler(&log, nil))
	second.begin()
	both := func(e event.Event) { first.pipeline.apply(e); second.pipeline.apply(e) }
	c.sink = second.pipeline.apply
	c.watch()
	c.sink = both
	for c.second() < 600 {
		first.runUntil(c.second() + 0.5)
		second.runUntil(c.second())
		second.pipeline.updateHistory(second.pipeline.advance())
	}
	if text := log.String(); strings.Count(text, "cannot save incidents") != 1 || strings.Contains(text, "resumed saving incidents") {
		t.Errorf("the second process logged %s", text)
	}
	for _, g := range second.pipeline.cluster("").Coverage().Gaps {
		if g.Reason == coverage.NotRunning {
			t.Errorf("the second process has the gap %+v", g)
		}
	}
	first.stops = true
	first.kill()
	c.sink = second.pipeline.apply
	second.runUntil(700)
	if text := log.String(); strings.Count(text, "resumed saving incidents") != 1 || strings.Count(text, "cannot save incidents") != 1 {
		t.Errorf("after the first process ended, the second one logged %s", text)
	}
}
