package chart

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEverySeverityCanBeSet sets another severity for every alert that has only one severity. This includes the alerts
// about kubeflap itself.
func TestEverySeverityCanBeSet(t *testing.T) {
	count, changed := map[string]int{}, map[string]any{}
	for _, r := range rules(t, "{prometheusRule: {enabled: true}}") {
		if count[r.Alert]++; r.Alert != "" && count[r.Alert] == 1 {
			changed[r.Alert] = map[string]any{"severity": "page"}
		} else {
			delete(changed, r.Alert)
		}
	}
	input, err := yaml.Marshal(map[string]any{"prometheusRule": map[string]any{"enabled": true, "alerts": changed}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t, string(input)) {
		if changed[r.Alert] != nil && r.Labels["severity"] != "page" {
			t.Errorf("%s has the severity %s", r.Alert, r.Labels["severity"])
		}
	}
	if changed["KubeflapNotRecording"] == nil || len(changed) < 15 {
		t.Errorf("only %d alerts have one severity", len(changed))
	}
}
