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
	"github.com/kubeflap/kubeflap/exporter/recording/incidents"
)

// evaluation is how often the rules are evaluated; when nothing happens any more, most of them are left out.
func evaluation(quiet bool) time.Duration {
	if quiet {
		return 2 * time.Minute
	}
	return 30 * time.Second
}

// intervals are the usual ones between scrapes.
var intervals = [3]time.Duration{15 * time.Second, 30 * time.Second, time.Minute}

// post is a recorded incident: the alerts of its one page, if it has one, and of the messages in the chat.
type post struct {
	file        string
	pages, chat []string
}

func posts() []post {
	return []post{
		// One node of two, and no Service without an address: nobody is paged.
		{"1-heartbeat-loss", nil, []string{"KubeflapNodeHeartbeatLost"}},
		// The Endpoints of the scheduler and the controller manager, and those of a database that has no selector.
		{"2-endpoints-reset", []string{"KubeflapEndpointsReset"}, []string{"KubeflapEndpointsReset", "KubeflapServiceFlapping"}},
		{"3-control-plane-stall", []string{"KubeflapHeartbeatsLateClusterWide"}, nil},
		// Half of the addresses: nobody is paged.
		{"4-batch-upgrade", nil, []string{"KubeflapStaleReadds"}},
		{"5-tight-grace-period", []string{"KubeflapGracePeriodTooTight"}, []string{"KubeflapGracePeriodTooTight"}},
	}
}

// Each recorded incident is replayed to a Prometheus with the shipped rules and an Alertmanager with the shipped example. Then nothing happens until all
// alerts have ended. Whoever is paged gets one page, within two minutes after a Service has lost its last address, and the chat one message of each alert.
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
	told := map[string]int{}
	for _, m := range notified(t, example(t), atWork, moments) {
		// A replay that stands still has watches that show nothing.
		found := slices.DeleteFunc(names(m.firing), func(name string) bool { return name == "KubeflapBlind" })
		switch {
		case len(found) == 0:
		case m.receiver == "chat":
			for _, name := range found {
				told[name]++
			}
		default:
			if paged++; !slices.Equal(found, p.pages) || lost > 0 && m.at > lost+2*time.Minute {
				t.Errorf("%v are paged after %s, want %v, and within 2m of %s", found, m.at, p.pages, lost)
			}
		}
	}
	if want := min(1, len(p.pages)); paged != want {
		t.Errorf("%d pages, want %d", paged, want)
	}
	for _, name := range p.chat {
		if told[name] != 1 {
			t.Errorf("the chat shows %s %d times", name, told[name])
		}
	}
}

// replayed are the alerts that fire at each of the intervals, while the recording is replayed and for 65 minutes after it, and when a Service lost its last
// address; 0 if none did.
func (p *post) replayed(t *testing.T) (lost time.Duration, all [3][]moment) {
	t.Helper()
	events := p.events(t)
	start, end := events[0].Seen, events[len(events)-1].Seen
	c := newCluster(start)
	c.listens()
	prometheuses := []*evaluator{newEvaluator(t), newEvaluator(t), newEvaluator(t)}
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
		if since%evaluation(at.After(end.Add(10*time.Minute))) == 0 {
			for i, e := range prometheuses {
				all[i] = append(all[i], moment{at.Sub(start), e.firing(at)})
			}
		}
	}
	return lost, all
}

// scrapeAll lets each Prometheus scrape at its interval.
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
	file, err := incidents.Files.Open(p.file + ".jsonl.gz")
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

// firing are the labels of the alerts that fire.
func (e *evaluator) firing(at time.Time) (all []labels.Labels) {
	for _, a := range e.evaluate(at) {
		all = append(all, a.Labels)
	}
	slices.SortFunc(all, func(a, b labels.Labels) int { return strings.Compare(a.String(), b.String()) })
	return all
}
