package paging

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Messages of Alertmanager to a webhook, and to a chat with the shipped template.
const (
	toWebhook = `{"alerts": [{"status": "firing", "labels": {"alertname": "KubeflapEndpointsOverwritten"},
		"annotations": {"summary": "Wiped.", "description": "Remove the selector.", "page_url": "http://k/flaps?service=web"}}]}`
	toChat = `{"channel": "#alerts", "attachments": [{"title": "[FIRING: 1]", "text": ` +
		`"KubeflapNodeFlapping (warning) since 2026-03-01 12:00:00 UTC\nIt flaps. Ask its kubelet.\nIncidents: http://k/flaps?node=node-1\n\n` +
		`KubeflapNodeLost (warning, resolved) since 2026-03-01 12:00:00 UTC\nLost.\nIncidents: http://k/flaps?node=node-2\n"}]}`
)

func TestMessagesArriveFromWebhookAndChat(t *testing.T) {
	r, err := startReceiver()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	for _, message := range []string{toWebhook, toChat} {
		response, err := http.Post(r.URL, "application/json", strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(response.Body); string(answer) != "ok" {
			t.Errorf("got response %q, want ok", answer)
		}
		_ = response.Body.Close()
	}
	want := []Page{
		{Alert: "KubeflapEndpointsOverwritten", Text: "Wiped. Remove the selector.", Link: "http://k/flaps?service=web"},
		{Alert: "KubeflapNodeFlapping", Text: "Ask its kubelet.", Link: "http://k/flaps?node=node-1"},
		{Alert: "KubeflapNodeLost", Text: "Lost.", Link: "http://k/flaps?node=node-2", Resolved: true},
	}
	got := r.Pages()
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, page := range got {
		if page.Alert != want[i].Alert || page.Resolved != want[i].Resolved || page.Link != want[i].Link || !strings.Contains(page.Text, want[i].Text) {
			t.Errorf("got %+v, want %+v", page, want[i])
		}
	}
}
