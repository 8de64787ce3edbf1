//go:build fleet

package fleet

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// alertmanager stores the alerts from one sender. Like a real Alertmanager, it identifies an alert by its labels.
type alertmanager struct {
	address string

	mu     sync.Mutex
	alerts map[string]*alert
}

// alert is an alert, with everything that was received about it.
type alert struct {
	labels map[string]string
	first  time.Time
	// starts contains the times at which the alert started to fire. There are several if the alert was resolved and
	// fired again.
	starts map[time.Time]bool
	// texts contains the alert's annotations without numbers. Numbers can differ, because Prometheus and the ruler
	// evaluate rules at different times.
	texts map[string]bool
	// now is true if the alert is firing.
	now bool
}

func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	a := &alertmanager{alerts: map[string]*alert{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.address = strings.TrimPrefix(server.URL, "http://")
	return a
}

// ServeHTTP implements the endpoint of Alertmanager's API that receives alerts.
func (a *alertmanager) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var posted []struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	if request.URL.Path != "/api/v2/alerts" {
		http.NotFound(w, request)
		return
	}
	if err := json.NewDecoder(request.Body).Decode(&posted); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range posted {
		key := textOf(x.Labels)
		is := a.alerts[key]
		if is == nil {
			is = &alert{labels: x.Labels, first: time.Now(), starts: map[time.Time]bool{}, texts: map[string]bool{}}
			a.alerts[key] = is
		}
		is.now = x.EndsAt.After(time.Now())
		is.starts[x.StartsAt] = true
		is.texts[numbers.ReplaceAllString(textOf(x.Annotations), "N")] = true
	}
}

// numbers matches numbers and durations in annotations.
var numbers = regexp.MustCompile(`\d+(?:\.\d+)?(?:[a-z]{1,2}\b)?(?: \d+(?:\.\d+)?(?:[a-z]{1,2}\b))*`)

func textOf(all map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text.WriteString(name + "=" + all[name] + "\n")
	}
	return text.String()
}

// of returns a copy of all alerts of a cluster.
func (a *alertmanager) of(cluster string) map[string]alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]alert{}
	for key, x := range a.alerts {
		if x.labels["cluster"] == cluster {
			is := *x
			is.starts, is.texts = maps.Clone(x.starts), maps.Clone(x.texts)
			all[key] = is
		}
	}
	return all
}

// others returns the alerts whose label cluster is none of the given clusters.
func (a *alertmanager) others(clusters map[string]*cluster) (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, x := range a.alerts {
		if clusters[x.labels["cluster"]] == nil {
			all = append(all, key)
		}
	}
	return all
}

// compare compares the alerts from a cluster's own Prometheus with those that the ruler sent for that cluster.
func compare(t *testing.T, cluster string, own, central map[string]alert) {
	t.Helper()
	for key, x := range own {
		y, found := central[key]
		if !found {
			t.Errorf("%s: the ruler has not sent this alert after %s:\n%s", cluster, time.Since(x.first).Round(time.Second), key)
			continue
		}
		if len(x.starts) != len(y.starts) {
			t.Errorf("%s: the cluster's Prometheus fired %d times, but the ruler %d times:\n%s", cluster, len(x.starts), len(y.starts), key)
		}
		for text := range y.texts {
			if !x.texts[text] {
				t.Logf("%s: only the ruler sent a text of %s", cluster, x.labels["alertname"])
			}
			for _, part := range []string{"of cluster " + cluster, "https://kubeflap." + cluster + ".example.org/", "var-cluster=" + cluster} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: no %q in:\n%s", cluster, part, text)
				}
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(y.texts)), func(text string) bool { return x.texts[text] }) {
			t.Errorf("%s: no text from the ruler equals one from the cluster's Prometheus:\n%s", cluster, key)
		}
	}
	for key := range central {
		if _, found := own[key]; !found {
			t.Errorf("%s: only the ruler sent this alert:\n%s", cluster, key)
		}
	}
}
