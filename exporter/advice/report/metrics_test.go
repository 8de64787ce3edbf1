package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

func parse(t *testing.T, text string) (families []*dto.MetricFamily) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range byName {
		families = append(families, family)
	}
	return families
}

func TestMetricsThatAreNoneOfOneWholeCluster(t *testing.T) {
	cases := []struct{ name, text, cluster, want string }{
		{"of another program", "up 1\n", "", "not kubeflap's metrics"},
		{"of several clusters", "kubeflap_watch_synced{cluster=\"a\"} 1\nkubeflap_watch_synced{cluster=\"b\"} 1\n", "", "set --url.cluster to one of a, b"},
		{"of a cluster without a name", "kubeflap_watch_synced 1\n", "b", "omit --url.cluster"},
		{"of other clusters", "kubeflap_watch_synced{cluster=\"a\"} 1\n", "b", "no cluster b: set --url.cluster to one of a"},
		{"of a cluster that is not read yet", "kubeflap_watch_synced{resource=\"pods\"} 0\n", "", "the list of pods is not complete"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(parse(t, c.text), c.cluster)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestOneOfSeveralClustersIsReadAlone(t *testing.T) {
	text := `kubeflap_watch_synced{cluster="a",resource="pods"} 1
kubeflap_watch_synced{cluster="b",resource="pods"} 0
kubeflap_watch_unavailable{cluster="b",resource="pods",reason="forbidden"} 1
kubeflap_node_heartbeats_late_total{cluster="a",node="x"} 1
kubeflap_node_heartbeats_late_total{cluster="b",node="y"} 2
`
	c, err := Read(parse(t, text), "b")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes) != 1 || !reflect.DeepEqual(c.Nodes[0], Node{Name: "y", Late: 2}) {
		t.Errorf("nodes %v", c.Nodes)
	}
	if want := []Unwatched{{Resource: "pods", Reason: "forbidden"}}; !slices.Equal(c.Unwatched, want) {
		t.Errorf("unwatched %v, want %v", c.Unwatched, want)
	}
}

// TestStaleReaddsAreReadByWindow checks that a Service's stale re-adds count for its namespace, like the bounces of the
// same window.
func TestStaleReaddsAreReadByWindow(t *testing.T) {
	text := `kubeflap_watch_synced{resource="pods"} 1
kubeflap_service_stale_readds_total{namespace="shop",service="api",window="2s"} 1
kubeflap_service_stale_readds_total{namespace="shop",service="web",window="2s"} 3
kubeflap_consumer_bounces_total{namespace="shop",window="10s"} 0
kubeflap_consumer_bounces_total{namespace="shop",window="2s"} 4
`
	c, err := Read(parse(t, text), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []advice.Window{{Length: 2 * time.Second, Bounces: 4, StaleReadds: 4}, {Length: 10 * time.Second}}
	if len(c.Namespaces) != 1 || !slices.Equal(c.Namespaces[0].Windows, want) {
		t.Errorf("namespaces %v, want windows %v", c.Namespaces, want)
	}
}

func TestWhatWasDecidedAboutSilencesIsRead(t *testing.T) {
	text := `kubeflap_watch_synced{resource="pods"} 1
kubeflap_watch_last_event_timestamp_seconds{resource="pods"} 1.7723664e+09
kubeflap_watch_last_event_timestamp_seconds{resource="leases"} 1.7723664015e+09
kubeflap_node_heartbeats_late_total{node="x"} 3
kubeflap_node_silences{node="x",verdict="node",reason="slow"} 0
kubeflap_node_silences{node="x",verdict="shared_path",reason=""} 2
kubeflap_node_silences{node="x",verdict="of tomorrow",reason=""} 2
kubeflap_node_silences{node="gone",verdict="shared_path",reason=""} 2
kubeflap_node_last_silence_timestamp_seconds{node="x",verdict="shared_path",reason=""} 1.7723663e+09
`
	c, err := Read(parse(t, text), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Unix(1772366401, 5e8).UTC(); !c.Now.Equal(want) {
		t.Errorf("now %s, want %s", c.Now, want)
	}
	want := []Silences{
		{Verdict: verdict.Node, Reason: verdict.Slow},
		{Verdict: verdict.SharedPath, Count: 2},
		{Verdict: verdict.SharedPath, Last: time.Unix(1772366300, 0).UTC()},
	}
	if len(c.Nodes) != 1 || !reflect.DeepEqual(c.Nodes[0].Silences, want) {
		t.Errorf("%+v, want %+v", c.Nodes, want)
	}
}
