package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/timeline"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/web/recordings"
)

// card holds the data of an incident's card. In a list, a card shows only the heading, the remedy, the figures and the
// timeline.
type card struct {
	heading
	Figures  []figure
	Timeline *timeline.Drawing
	Evidence []evidenceRow
	Effects  []effectRow
	// NodeLinks contains a link to the incidents of each node. JSON is the link to the incident in the API.
	NodeLinks []nodeLink
	JSON      string
	// ToFix names the component to fix. It is empty if the verdict is undecided.
	ToFix string
	// Weighed is the list of considered hypotheses.
	Weighed  []weighedRow
	Detailed bool
	// Recording is the link to the incident's recording, or empty.
	Recording string
}

// recordedAround is how much time a recording includes before and after its incident.
const recordedAround = 10 * time.Minute

type figure struct{ Value, What string }

type evidenceRow struct{ Time, Until, Text string }

// weighedRow groups hypotheses with the same result and the same reason.
type weighedRow struct{ Holds, Verdicts, Because string }

type effectRow struct{ Link, Name, Text string }

type nodeLink struct{ Link, Name string }

func cardOf(x *clusterIncident, detailed bool) card {
	c := card{heading: headingOf(x), Figures: figuresOf(x), Timeline: timelineOf(x, !detailed), Detailed: detailed}
	if detailed {
		c.takeDetails(x)
	}
	return c
}

func timelineOf(x *clusterIncident, inList bool) *timeline.Drawing {
	until := x.End
	if until.IsZero() {
		until = x.asOf
	}
	return timeline.Draw(x.Incident, until, inList)
}

func figuresOf(x *clusterIncident) []figure {
	var all []figure
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			all = append(all, figure{"1", one})
		case n > 1:
			all = append(all, figure{strconv.Itoa(n), many})
		}
	}
	if x.OutageTime > 0 {
		all = append(all, figure{outageLength(x), "without any ready address"})
	}
	add(x.Lost, "ready address lost", "ready addresses lost")
	add(len(x.Services)+x.ServicesLeftOut, "Service", "Services")
	add(len(x.Nodes)+x.NodesLeftOut, "node", "nodes")
	add(x.Evicted, "pod evicted", "pods evicted")
	if n := x.Numbers.LongestInterval; n > 0 {
		name := "longest heartbeat interval"
		if x.Numbers.LongestAtLeast {
			name += ", at least"
		}
		all = append(all, figure{length(n), name})
	}
	if n := x.Numbers.GracePeriod; n > 0 {
		all = append(all, figure{length(n), "grace period"})
	}
	return all
}

func (c *card) takeDetails(x *clusterIncident) {
	if x.Verdict != verdict.Undecided {
		c.ToFix = advice.ToFix(x.Verdict)
	}
	for _, e := range x.Evidence {
		row := evidenceRow{Time: clock(e.Time), Text: e.Text}
		if e.Until.Sub(e.Time) >= 100*time.Millisecond {
			row.Until = "within " + length(e.Until.Sub(e.Time))
		}
		c.Evidence = append(c.Evidence, row)
	}
	if x.cluster.downloads {
		values := url.Values{"from": {x.Start.Add(-recordedAround).UTC().Format(time.RFC3339)}}
		if !x.End.IsZero() {
			values.Set("to", x.End.Add(recordedAround).UTC().Format(time.RFC3339))
		}
		c.Recording = recordings.Path + "?" + values.Encode()
	}
	for _, h := range x.Considered {
		c.Weighed = addHypothesis(c.Weighed, h.Verdict.String(), h.Holds.String(), h.Because)
	}
	c.JSON = api.Path + "?" + inCluster(x, url.Values{"id": {x.ID}})
	for _, name := range x.Nodes {
		c.NodeLinks = append(c.NodeLinks, nodeLink{pageLink(inCluster(x, url.Values{"node": {name}})), name})
	}
	for _, s := range x.Services {
		link := pageLink(inCluster(x, url.Values{"namespace": {s.Namespace}, "service": {s.Name}}))
		row := effectRow{Link: link, Name: s.Namespace + "/" + s.Name, Text: effectText(&s)}
		c.Effects = append(c.Effects, row)
	}
}

// inCluster encodes URL parameters, and adds the cluster of the incident x.
func inCluster(x *clusterIncident, values url.Values) string {
	if x.cluster.Name != "" {
		values.Set("cluster", x.cluster.Name)
	}
	return values.Encode()
}

func addHypothesis(rows []weighedRow, verdict, holds, because string) []weighedRow {
	for i := range rows {
		if rows[i].Holds == holds && rows[i].Because == because {
			rows[i].Verdicts += ", " + verdict
			return rows
		}
	}
	return append(rows, weighedRow{holds, verdict, because})
}

// outageLength returns the total length of the Services' outages. The text starts with "about" if a watch was
// broken at the start or end of an outage.
func outageLength(x *clusterIncident) string {
	if slices.ContainsFunc(x.Services, func(s incident.Service) bool { return s.Inexact }) {
		return "about " + length(x.OutageTime)
	}
	return length(x.OutageTime)
}

func effectText(s *incident.Service) string {
	text := "lost no ready address"
	if s.Lost > 0 {
		text = "lost " + phrase.Count(s.Lost, "ready address", "ready addresses")
	}
	if s.Bounces > 0 {
		text += fmt.Sprintf(", %d came back", s.Bounces)
	}
	lasted := length(s.OutageTime)
	if s.Inexact {
		lasted = "about " + lasted
	}
	switch {
	case s.Down:
		text += "; no ready address, for " + lasted + " so far"
	case s.Outages == 1:
		text += "; no ready address for " + lasted
	case s.Outages > 1:
		text += fmt.Sprintf("; no ready address for %s in %d outages", lasted, s.Outages)
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }

func length(d time.Duration) string { return phrase.SpacedDuration(d) }
