package correlate

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// recordedLog replays a recording, and returns the incidents and its end.
func recordedLog(t *testing.T, name string) (log *Log, end time.Time) {
	t.Helper()
	file, err := recording.Incidents.Open("incidents/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := recording.NewReader(file, name)
	if err != nil {
		t.Fatal(err)
	}
	log = New(100)
	tracker := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	for e, err := range reader.Events() {
		if err != nil {
			t.Fatal(err)
		}
		log.Observe(tracker.Apply(e)...)
		end = e.Seen
	}
	log.Observe(tracker.Advance(end)...)
	log.Observe(tracker.Settle()...)
	return log, end
}

// TestTheOverviewAgreesWithTheIncidents checks that an overview equals the incidents, except for the omitted fields.
func TestTheOverviewAgreesWithTheIncidents(t *testing.T) {
	for _, name := range []string{"1-heartbeat-loss", "2-endpoints-reset", "3-control-plane-stall", "4-batch-upgrade", "5-tight-grace-period"} {
		log, end := recordedLog(t, name)
		full, overview := log.Incidents(end), log.Overview(end)
		if len(full) == 0 || len(overview) != len(full) {
			t.Fatalf("%s: %d incidents, the overview has %d", name, len(full), len(overview))
		}
		for i, x := range full {
			if one, ok := log.Incident(end, x.ID); !ok || !reflect.DeepEqual(one, x) {
				t.Errorf("%s: by its ID it is\n%+v\nwant\n%+v", name, one, x)
			}
			x.Evidence, x.EvidenceLeftOut, x.Timeline, x.SpansLeftOut, x.Numbers, x.Summary, x.Remedy = nil, 0, nil, 0, incident.Numbers{}, "", ""
			if !reflect.DeepEqual(overview[i], x) {
				t.Errorf("%s: the overview has\n%+v\nwant\n%+v", name, overview[i], x)
			}
		}
		if x, ok := log.Incident(end, "none"); ok {
			t.Errorf("%s: no ID is that of %+v", name, x)
		}
	}
}
