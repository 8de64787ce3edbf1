package main

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// idsOf returns the IDs of the incidents that start at or after the given second, by subject and minute of the start.
// Replicas may see the start some seconds apart.
func idsOf(all []incident.Incident, after float64) map[string]string {
	ids := map[string]string{}
	for i := range all {
		if x := &all[i]; x.Start.Sub(storyBegin).Seconds() >= after {
			ids[fmt.Sprintf("%s/%s at %.0f min", x.Namespace, x.Subject, x.Start.Sub(storyBegin).Minutes())] = x.ID
		}
	}
	return ids
}

// linksOf returns the links to incidents on a page.
func linksOf(t *testing.T, base string) (links []string) {
	t.Helper()
	_, page, err := (visitor{}).ask(t, http.MethodGet, base+"/flaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`href="(/flaps\?[^"]*id=[^"]*)"`).FindAllStringSubmatch(page, -1) {
		if link := html.UnescapeString(found[1]); !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return links
}

// TestReplicasServeTheSameIncidents compares two replicas in virtual time. The second one starts two minutes after the
// first one, while node-5 is silent. The first one is restarted with its --data.dir while node-5 is silent again.
func TestReplicasServeTheSameIncidents(t *testing.T) {
	first := newRestarted(t, "start 9; 90 silent 5 until 400; 700 silent 3 until 850; 1300 silent 5 until 1700; 2200 silent 3 until 2400; "+
		"60 unready cart/1 until 68; 150 unready cart/1 until 158; 1000 unready cart/1 until 1008")
	c := first.cluster
	second := newPipeline(trackerSettings(), func() time.Time { return c.Now }, silent)
	both := func() {
		one := first.pipeline.apply
		c.Watchers[0].Sink = func(e event.Event) { one(e); second.apply(e) }
	}
	first.runUntil(120)
	c.Watchers[0].Sink = second.apply
	c.Watchers[0].Start()
	both()
	first.runUntil(1500)
	first.kill()
	c.Watchers[0].Sink = second.apply
	c.RunUntil(1510)
	first.begin()
	c.Watchers[0].Start()
	both()
	for c.Second() < 3000 {
		first.runUntil(c.Second() + 10)
		second.advance()
	}
	theirs := second.cluster().Read().Incidents
	for subject, id := range idsOf(theirs, 160) {
		if got := idsOf(first.incidents(), 160)[subject]; got != id {
			t.Errorf("%s is %q in the first replica and %q in the second", subject, got, id)
		}
	}
	if a, b := idsOf(first.incidents(), 160), idsOf(theirs, 160); len(a) != len(b) || len(a) < 4 {
		t.Errorf("the first replica has %v, the second %v", a, b)
	}
	bases := []string{served(t, first.pipeline), served(t, second)}
	for _, from := range bases {
		links := linksOf(t, from)
		if len(links) < 4 {
			t.Errorf("the page of %s has the links %q", from, links)
		}
		for _, link := range links {
			for _, base := range bases {
				if got := (visitor{}).status(t, base+link); got != http.StatusOK {
					t.Errorf("the link %s of %s has status %d at %s", link, from, got, base)
				}
			}
		}
	}
	for _, x := range theirs {
		if x.Subject != "node-5" {
			continue
		}
		for _, base := range bases {
			if got := (visitor{}).status(t, base+"/flaps?id="+x.ID); got != http.StatusOK {
				t.Errorf("the node that was silent when the second replica started: status %d at %s", got, base)
			}
		}
	}
}
