package correlate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// recorded replays a recording and returns the incidents as of its end.
func recorded(t *testing.T, name string) []incident.Incident {
	t.Helper()
	log, end := recordedLog(t, name)
	return log.Incidents(end)
}

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

// TestRecordedIncidentsHaveTheRightCauseScopeAndRemedy replays the five post-mortems that kubeflap was made for,
// recorded on a real control plane.
func TestRecordedIncidentsHaveTheRightCauseScopeAndRemedy(t *testing.T) {
	cases := []struct {
		recording string
		incidents int
		state     incident.State
		scope     incident.Scope
		cause     cause.Cause
		subject   string
		verdict   verdict.Verdict
		remedy    []string
	}{
		{
			"1-heartbeat-loss", 1, incident.StateRecovered, incident.ScopeNode, cause.NodeHeartbeatLost, "node-2", verdict.Node,
			[]string{"the kubelet on node-2", "--node-monitor-grace-period to 60s", "It is currently 24s", "the longest interval was 25.9s"},
		},
		{
			"2-endpoints-reset", 3, incident.StateRunning, incident.ScopeService, cause.EndpointsReset, "kube-controller-manager", verdict.EndpointsController,
			[]string{"Remove the selector of Service kube-system/kube-controller-manager"},
		},
		{
			"3-control-plane-stall", 1, incident.StateRecovered, incident.ScopeControlPlane, cause.NodeHeartbeatLost, "control plane", verdict.SharedPath,
			[]string{"etcd's disk and load", "Leave the grace period as it is (24s): it is not the cause"},
		},
		{
			"4-batch-upgrade", 1, incident.StateRecovered, incident.ScopeWorkload, cause.InPlaceUpdate, "Service/web", verdict.UpdateInPlace,
			[]string{
				"readiness gate", "--endpoint-updates-batch-period of the kube-controller-manager to 10s",
				"3 without batching, 3 with batches of 2s, 2 with batches of 5s, none with batches of 10s",
			},
		},
		{
			"5-tight-grace-period", 1, incident.StateRecovered, incident.ScopeControlPlane, cause.NodeHeartbeatLost, "kube-controller-manager", verdict.GracePeriod,
			[]string{"default is 40s (50s from v1.32)", "It is currently 10s", "less than 20s is always unsafe"},
		},
	}
	for _, c := range cases {
		t.Run(c.recording, func(t *testing.T) {
			all := recorded(t, c.recording)
			if len(all) != c.incidents {
				t.Fatalf("%d incidents, want %d: %s", len(all), c.incidents, summaries(all))
			}
			x := all[0]
			is(t, x, c.state, c.scope, c.cause, c.subject)
			equal(t, "verdict", x.Verdict.String(), c.verdict.String())
			for _, want := range c.remedy {
				if !strings.Contains(x.Remedy, want) {
					t.Errorf("%q is not in: %s", want, x.Remedy)
				}
			}
		})
	}
}

func TestTheOtherIncidentsOfTheRecordedReset(t *testing.T) {
	all := recorded(t, "2-endpoints-reset")
	is(t, all[1], incident.StateRunning, incident.ScopeService, cause.EndpointsReset, "kube-scheduler")
	is(t, all[2], incident.StateRecovered, incident.ScopeService, cause.ManualWrite, "database")
	equal(t, "outages", all[2].Outages, 2)
}

func TestTheRecordedHeartbeatLossHasAllEvidence(t *testing.T) {
	x := recorded(t, "1-heartbeat-loss")[0]
	want := []string{
		"last heartbeat", "half of the grace period", "the whole grace period", "Ready from True to Unknown", "2 pods",
		"lost 2 ready addresses", "heartbeats resumed after 25.9s", "2 addresses are back", "Ready again",
	}
	if len(x.Evidence) != len(want) {
		t.Fatalf("%d links, want %d: %v", len(x.Evidence), len(want), x.Evidence)
	}
	for i, e := range x.Evidence {
		if !strings.Contains(e.Text, want[i]) {
			t.Errorf("link %d: %q is not in %q", i, want[i], e.Text)
		}
	}
}
