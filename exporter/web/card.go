package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

func cardOf(x *found, detailed bool) card {
	link := url.Values{"id": {x.ID}}
	if subject := subjectOf(&x.Incident); len(subject) <= maxSubject {
		link.Set("subject", subject)
		link.Set("at", strconv.FormatInt(x.Start.Unix(), 10))
	}
	if x.cluster != "" {
		link.Set("cluster", x.cluster)
	}
	c := card{
		found: x, Cluster: x.cluster, Detailed: detailed, Link: "/flaps?" + link.Encode(),
		StateText: stateText(x), ScopeText: strings.ReplaceAll(string(x.Scope), "_", " "),
		Where: whereOf(x), When: moment(x.Start), Lasted: length(lasted(x)),
		Timeline: draw(x, !detailed),
	}
	c.Figures = figuresOf(x)
	if detailed {
		c.takeDetails(x)
	}
	return c
}

// whereOf names the subject of an incident, unless its scope names it already.
func whereOf(x *found) string {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	switch {
	case x.Scope == incident.ScopeControlPlane && x.Subject == "control plane":
		return ""
	case ofKind:
		return kind + " " + x.Namespace + "/" + name
	case x.Namespace != "":
		return x.Namespace + "/" + x.Subject
	}
	return x.Subject
}

func stateText(x *found) string {
	ago := length(x.asOf.Sub(x.End)) + " ago"
	switch x.State {
	case incident.StateRunning:
		return "running for " + length(lasted(x))
	case incident.StatePending:
		return "about to happen"
	case incident.StateRecovered:
		return "recovered " + ago
	}
	return "ended " + ago
}

func figuresOf(x *found) []figure {
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
		all = append(all, figure{length(x.OutageTime), "without any ready address"})
	}
	add(x.Lost, "ready address lost", "ready addresses lost")
	add(len(x.Services)+x.ServicesLeftOut, "Service", "Services")
	add(len(x.Nodes)+x.NodesLeftOut, "node", "nodes")
	add(x.Evicted, "pod evicted", "pods evicted")
	if n := x.Numbers.LongestInterval; n > 0 {
		all = append(all, figure{length(n), "longest heartbeat interval"})
	}
	if n := x.Numbers.GracePeriod; n > 0 {
		all = append(all, figure{length(n), "grace period"})
	}
	return all
}

func (c *card) takeDetails(x *found) {
	for _, e := range x.Evidence {
		row := evidenceRow{Time: clock(e.Time), Text: e.Text}
		if e.Until.Sub(e.Time) >= 100*time.Millisecond {
			row.Until = "within " + length(e.Until.Sub(e.Time))
		}
		c.Evidence = append(c.Evidence, row)
	}
	for _, s := range x.Services {
		link := url.Values{"namespace": {s.Namespace}, "service": {s.Name}}
		row := effectRow{Link: "/flaps?" + link.Encode(), Name: s.Namespace + "/" + s.Name, Text: effectText(&s)}
		c.Effects = append(c.Effects, row)
	}
}

func effectText(s *incident.Service) string {
	text := fmt.Sprintf("lost %d", s.Lost)
	if s.Bounces > 0 {
		text += fmt.Sprintf(", %d came back", s.Bounces)
	}
	switch {
	case s.Down:
		text += "; no ready address, for " + length(s.OutageTime) + " so far"
	case s.Outages == 1:
		text += "; no ready address for " + length(s.OutageTime)
	case s.Outages > 1:
		text += fmt.Sprintf("; no ready address for %s in %d outages", length(s.OutageTime), s.Outages)
	}
	return text
}

// moment formats a time with its date.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }

// length formats a duration for people.
func length(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d, 0).Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%g s", d.Round(100*time.Millisecond).Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
