package watch

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestUnreadableAnswers covers a proxy that responds with a login page.
func TestUnreadableAnswers(t *testing.T) {
	login := page200{"text/html; charset=utf-8", "<!DOCTYPE html><html><head><title>Sign in</title>"}
	disguised := page200{"application/json", login.body}
	for _, c := range []struct {
		name  string
		pages map[string]page200
		shown string
	}{
		{"to everything", map[string]page200{"": login}, "text/html"},
		{"to the watch", map[string]page200{"watch pods": login}, "text/html"},
		{"to everything, as JSON", map[string]page200{"": disguised}, "Sign in"},
		{"to the watch, as JSON", map[string]page200{"watch pods": disguised}, "Sign in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				quietPods(s, odd{})
				time.Sleep(10 * time.Second)
				s.api.set(func() { s.api.pages = c.pages })
				close(s.api.stream("pods").end)
				time.Sleep(30 * time.Second)
				s.unrepeat(event.KindPod)
				s.wantEnd(event.KindPod, "down unreadable answer")
				s.wantLog(1, "WARN", `resource=pods cause="unreadable answer"`)
				s.wantLog(1, "WARN", c.shown)
			})
		})
	}
}

func TestPreflightWithUnreadableAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		page  page200
		shown string
	}{
		{"a page", page200{"text/html", "<html>Sign in"}, "<html>Sign in"},
		{"an answer to another question", page200{"application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`}, "Success"},
		{"an object of another kind", page200{"application/json", `{"kind":"Secret","apiVersion":"v1"}`}, "Secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				s.api.pages = map[string]page200{"": c.page}
				s.start()
				time.Sleep(time.Minute)
				s.wantLog(1, "WARN", `cause="unreadable answer"`)
				s.wantLog(1, "WARN", c.shown)
				s.api.set(func() { s.api.pages = nil })
				time.Sleep(30 * time.Second)
				s.unrepeat(event.KindPod)
				s.want(event.KindPod, "down unreadable answer", "listing", "synced")
			})
		})
	}
}
