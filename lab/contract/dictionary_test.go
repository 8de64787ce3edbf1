package contract

import (
	"slices"
	"testing"
)

func TestDictionary(t *testing.T) {
	all, err := ReadDictionary()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Metric{
		"kubeflap_node_heartbeat_interval_seconds":        {"histogram", nil},
		"kubeflap_node_ready_transitions_total":           {"counter", []string{"node", "status"}},
		"kubeflap_service_addresses":                      {"gauge", []string{"namespace", "service", "state"}},
		"kubeflap_endpoints_propagation_seconds_bucket":   {"histogram", []string{"le", "to"}},
		"kubeflap_service_outage_duration_seconds_count":  {"histogram", []string{"cause"}},
		"kubeflap_node_heartbeat_interval_seconds_bucket": {"histogram", []string{"le"}},
		"kubeflap_service_last_loss_timestamp_seconds":    {"gauge", []string{"namespace", "service", "cause"}},
		"kubeflap_watch_unavailable":                      {"gauge", []string{"resource", "reason"}},
	}
	for name, m := range want {
		if got, ok := all[name]; !ok || got.Type != m.Type || !slices.Equal(got.Labels, m.Labels) {
			t.Errorf("%s: got %v, want %v", name, got, m)
		}
	}
	if len(all) < 40 {
		t.Errorf("found only %d names", len(all))
	}
}
