package paging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
)

// stormed starts an Alertmanager with the shipped example and many alerts: all pods of 200 Services fail their probes,
// while the other kinds of incidents occur in the same cluster.
func stormed(t *testing.T) *Paging {
	t.Helper()
	p := &Paging{options: Options{Rules: "../../rules", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}, dir: t.TempDir()}
	_, alertmanager, err := Build(t.Context(), p.options.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if err := p.startAlertmanager(t.Context(), alertmanager); err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	add := func(name, severity string, labels map[string]string) {
		is := map[string]string{"cluster": "eu", "alertname": name, "severity": severity}
		for k, v := range labels {
			is[k] = v
		}
		all = append(all, map[string]any{"labels": is, "annotations": map[string]string{"summary": name}})
	}
	for i := range 200 {
		service := map[string]string{"namespace": "shop", "service": fmt.Sprint("web-", i), "cause": "probe_failed"}
		add("KubeflapServiceWithoutReadyAddresses", "critical", service)
		add("KubeflapServiceReadinessBudgetBurning", "critical", service)
		add("KubeflapServiceFlapping", "warning", service)
	}
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		add("KubeflapNodeHeartbeatLost", "warning", map[string]string{"node": node})
		add("KubeflapNodeFlapping", "warning", map[string]string{"node": node})
	}
	add("KubeflapHeartbeatsLateClusterWide", "critical", nil)
	add("KubeflapGracePeriodTooTight", "critical", nil)
	add("KubeflapEndpointsReset", "critical", map[string]string{"namespace": "kube-system", "service": "kube-scheduler", "cause": "endpoints_reset"})
	add("KubeflapStaleReadds", "warning", map[string]string{"namespace": "shop", "service": "cart"})
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(p.Alertmanager+"/api/v2/alerts", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return p
}

// A storm must cause one page for the control plane, one page for all Services, and one chat message for the other
// alerts.
func TestAStormIsAFewMessages(t *testing.T) {
	p := stormed(t)
	messages := map[time.Time]string{}
	err := poll.Until(t.Context(), 2*time.Minute, "a page with 201 Services, and one chat message", func(context.Context) error {
		clear(messages)
		alerts := map[string]int{}
		for _, page := range p.Receiver.Pages() {
			messages[page.Arrived] += page.Alert + " "
			alerts[page.Alert]++
		}
		if alerts["KubeflapServiceWithoutReadyAddresses"] < 200 || alerts["KubeflapHeartbeatsLateClusterWide"] < 1 ||
			alerts["KubeflapEndpointsReset"] < 1 || alerts["KubeflapStaleReadds"] < 1 {
			return fmt.Errorf("%v arrived", alerts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) > 3 {
		for at, of := range messages {
			t.Logf("%v: %.200s", at, of)
		}
		t.Errorf("got %d messages, want at most 3", len(messages))
	}
}
