package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// evaluation returns the interval between two evaluations of the rules. By default, Prometheus evaluates them every
// 30 s. If nothing happens anymore, the interval is longer, to save time. It is shorter than 4 minutes, because
// Alertmanager would otherwise resolve alerts.
func evaluation(quiet bool) time.Duration {
	if quiet {
		return 3 * time.Minute
	}
	return 30 * time.Second
}

// intervals lists the usual scrape intervals.
var intervals = [3]time.Duration{15 * time.Second, 30 * time.Second, time.Minute}

// post is a recorded incident. pages lists the alerts in its only page, and chat lists those in chat messages.
type post struct {
	file        string
	pages, chat []string
}

func posts() []post {
	return []post{
		// One of two nodes is silent. There is no page, because every Service still has a ready address.
		{"1-heartbeat-loss", nil, []string{"KubeflapNodeHeartbeatLost"}},
		// The Endpoints of the scheduler, of the controller manager and of a database are reset. Only the database's
		// Service has no selector.
		{"2-endpoints-reset", []string{"KubeflapEndpointsReset"}, []string{"KubeflapEndpointsReset", "KubeflapServiceFlapping"}},
		{"3-control-plane-stall", []string{"KubeflapHeartbeatsLateClusterWide"}, nil},
		// There is no page, because half of the addresses are still ready.
		{"4-batch-upgrade", nil, []string{"KubeflapStaleReadds"}},
		{"5-tight-grace-period", []string{"KubeflapGracePeriodTooTight"}, []string{"KubeflapGracePeriodTooTight"}},
	}
}

// The test replays each recorded incident with the shipped rules and the shipped Alertmanager configuration, until all
// alerts have ended. The pager must receive at most one page. The page must arrive within two minutes after a Service
// lost its last ready address. The chat must receive one message for each alert.
func TestEachPostPagesOnce(t *testing.T) {
	for _, p := range posts() {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			lost, moments := p.replayed(t)
			for i, interval := range intervals {
				t.Run(fmt.Sprintf("scraped every %s", interval), func(t *testing.T) { p.check(t, lost, moments[i]) })
			}
		})
	}
}

func (p *post) check(t *testing.T, lost time.Duration, moments []moment) {
	paged := 0
	sent := map[string]int{}
	for _, m := range notified(t, example(t), atWork, moments) {
		// This alert fires because the watches receive no more events after the end of the recording.
		found := slices.DeleteFunc(names(m.firing), func(name string) bool { return name == "KubeflapBlind" })
		switch {
		case len(found) == 0:
		case m.receiver == "chat":
			for _, name := range found {
				sent[name]++
			}
		default:
			if paged++; !slices.Equal(found, p.pages) || lost > 0 && m.at > lost+2*time.Minute {
				t.Errorf("got a page with %v after %s, want %v, within 2m after %s", found, m.at, p.pages, lost)
			}
		}
	}
	if want := min(1, len(p.pages)); paged != want {
		t.Errorf("got %d pages, want %d", paged, want)
	}
	for _, name := range p.chat {
		if sent[name] != 1 {
			t.Errorf("got %[2]d chat messages for %[1]s, want 1", name, sent[name])
		}
	}
}

// replayed returns the alerts that fire during the replay and the 65 minutes after it, by scrape interval. The result
// lost is the time of the first outage or reset of Endpoints, or 0 if there is none.
func (p *post) replayed(t *testing.T) (lost time.Duration, all [3][]moment) {
	t.Helper()
	events := p.events(t)
	start, end := events[0].Seen, events[len(events)-1].Seen
	c := newCluster(start)
	c.listens()
	prometheuses := []*evaluator{newQuickEvaluator(t), newQuickEvaluator(t), newQuickEvaluator(t)}
	for at := start.Add(time.Second); at.Before(end.Add(65 * time.Minute)); at = at.Add(intervals[0]) {
		for len(events) > 0 && !events[0].Seen.After(at) {
			c.now = events[0].Seen
			c.apply(events[0])
			if events = events[1:]; lost == 0 && total(t, c, "kubeflap_service_outages_total")+total(t, c, "kubeflap_service_endpoints_resets_total") > 0 {
				lost = c.now.Sub(start)
			}
		}
		if c.now = at; at.After(end) {
			c.now = end
		}
		since := at.Sub(start) - time.Second
		scrapeAll(c, prometheuses, at, since)
		if since%evaluation(at.After(end.Add(6*time.Minute))) == 0 {
			for i, e := range prometheuses {
				all[i] = append(all[i], moment{at.Sub(start), e.firing(at)})
			}
		}
	}
	return lost, all
}

// scrapeAll runs the scrapes that are due.
func scrapeAll(c *cluster, all []*evaluator, at time.Time, since time.Duration) {
	g := gathered(c)
	for i, e := range all {
		if since%intervals[i] == 0 {
			e.scrape(at, g, "a")
		}
	}
}

func (p *post) events(t *testing.T) (all []event.Event) {
	t.Helper()
	file, err := recording.Incidents.Open("incidents/" + p.file + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(file, p.file)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// firing returns the labels of the firing alerts.
func (e *evaluator) firing(at time.Time) (all []labels.Labels) {
	for _, a := range e.evaluate(at) {
		all = append(all, a.Labels)
	}
	slices.SortFunc(all, func(a, b labels.Labels) int { return strings.Compare(a.String(), b.String()) })
	return all
}
