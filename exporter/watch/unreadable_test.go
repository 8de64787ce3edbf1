package watch

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const direct = "connect kubeflap directly to the API server"

// TestUnreadableAnswers covers a proxy that requires a login, and one that only sends JSON.
func TestUnreadableAnswers(t *testing.T) {
	login := foreign{200, "text/html; charset=utf-8", "<!DOCTYPE html><html><head><title>Sign in</title>"}
	list := foreign{200, "application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"30"},"items":[]}`}
	change := foreign{200, "application/json", `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"30"}}}`}
	refusal := foreign{406, "application/json", `{"kind":"Status","code":406,"message":"only the following media types are accepted: application/json"}`}
	for _, c := range []struct {
		name    string
		foreign map[string]foreign
		// shown is a part of the error.
		shown string
	}{
		{"a page for everything", map[string]foreign{"": login}, `content type \"text/html; charset=utf-8\"`},
		{"JSON for the list", map[string]foreign{"watch pods": {422, "text/plain", "no"}, "list pods": list}, `http://kube.test/api/v1/pods answers 200 OK`},
		{"JSON for the watch", map[string]foreign{"watch pods": change}, `http://kube.test/api/v1/pods answers 200 OK`},
		{"the refusal of protobuf for the watch", map[string]foreign{"watch pods": refusal}, "406 Not Acceptable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				quietPods(s, odd{})
				time.Sleep(10 * time.Second)
				s.api.set(func() { s.api.foreign = c.foreign })
				close(s.api.stream("pods").end)
				time.Sleep(30 * time.Second)
				s.unrepeat(event.KindPod)
				s.wantEnd(event.KindPod, "down unreadable answer")
				s.wantLog(1, "WARN", `resource=pods cause="unreadable answer"`)
				s.wantLog(1, "WARN", c.shown)
				s.wantLog(1, "WARN", direct)
				s.api.set(func() { s.api.foreign = nil })
				time.Sleep(10 * time.Second)
				s.wantLog(1, "INFO", "is working again")
			})
		})
	}
}
