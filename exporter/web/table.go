package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// pageSize is how many incidents a page has.
const pageSize = 50

// heading is what the table and the card of an incident have in common.
type heading struct {
	*found
	// Key identifies the incident among those of all clusters.
	Key, Link, Cluster string
	// StateNote is since when or how long it has its state.
	StateNote string
	// Kind and Name are its subject.
	Kind, Name string
	// Since is its start, and Lasted how long it lasted if StateNote does not say it.
	Since, Lasted string
}

// row is an incident in the table.
type row struct {
	heading
	Hit string
	// Down: a Service has no ready address now.
	Down bool
}

func rowOf(x *found) row {
	return row{heading: headingOf(x), Hit: hitOf(x), Down: slices.ContainsFunc(x.Services, func(s incident.Service) bool { return s.Down })}
}

func headingOf(x *found) heading {
	h := heading{found: x, Key: x.ID, Link: linkOf(x), Cluster: x.cluster.Name, StateNote: stateNote(x), Since: moment(x.Start)}
	if x.number > 0 {
		h.Key += "-" + strconv.Itoa(x.number)
	}
	h.Kind, h.Name = subjectOf(x)
	switch {
	case !x.End.IsZero():
		h.Lasted = "for " + length(x.Lasted(x.asOf))
	case x.cluster.Recorded:
		h.Lasted = "for " + length(x.Lasted(x.asOf)) + " so far"
	}
	return h
}

// What is its subject with its kind.
func (h *heading) What() string { return strings.TrimSuffix(h.Kind+" "+h.Name, " ") }

func linkOf(x *found) string {
	link := url.Values{"id": {x.ID}}
	if subject := query.SubjectOf(x.Incident); len(subject) <= query.MaxSubject {
		link.Set("subject", subject)
		link.Set("at", strconv.FormatInt(x.Start.Unix(), 10))
	}
	if x.cluster.Name != "" {
		link.Set("cluster", x.cluster.Name)
	}
	return "/flaps?" + link.Encode()
}

// stateNote adds details to the state. Ages are useless to the reader of a recording.
func stateNote(x *found) string {
	switch {
	case x.State == incident.StatePending:
		return "nothing is lost yet"
	case x.State == incident.StateRunning && x.cluster.Recorded:
		return "as of " + timeAfter(x.Start, x.asOf)
	case x.State == incident.StateRunning:
		return "for " + length(x.Lasted(x.asOf))
	case x.cluster.Recorded:
		return "at " + timeAfter(x.Start, x.End)
	}
	return length(x.asOf.Sub(x.End)) + " ago"
}

// timeAfter formats a time without its date if that is the date of an earlier one.
func timeAfter(earlier, t time.Time) string {
	if earlier.UTC().Format(time.DateOnly) == t.UTC().Format(time.DateOnly) {
		return t.UTC().Format(time.TimeOnly)
	}
	return moment(t)
}

// subjectOf names what an incident is about, and of which kind that is.
func subjectOf(x *found) (kind, name string) {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	switch {
	case x.Scope == incident.ScopeControlPlane && x.Subject == "control plane":
		return "control plane", ""
	case !ofKind:
		kind, name = kindOf[x.Scope], x.Subject
	}
	if x.Namespace != "" {
		name = x.Namespace + "/" + name
	}
	return kind, name
}

var kindOf = map[incident.Scope]string{
	incident.ScopeControlPlane: "control plane", incident.ScopeNode: "node", incident.ScopeWorkload: "workload", incident.ScopeService: "Service",
}

// hitOf says in a few words what an incident took out.
func hitOf(x *found) string {
	if x.Withdrawn != "" {
		return "withdrawn: " + x.Withdrawn
	}
	var parts []string
	if x.Scope == incident.ScopeControlPlane {
		parts = append(parts, phrase.Count(len(x.Nodes)+x.NodesLeftOut, "node", "nodes"))
	}
	switch n := len(x.Services) + x.ServicesLeftOut; {
	case n == 0:
		parts = append(parts, "no Service")
	case n == 1 && len(x.Services) == 1:
		parts = append(parts, x.Services[0].Namespace+"/"+x.Services[0].Name)
	default:
		parts = append(parts, strconv.Itoa(n)+" Services")
	}
	if x.Lost > 0 {
		parts = append(parts, phrase.Count(x.Lost, "address", "addresses")+" lost")
	}
	if x.OutageTime > 0 {
		parts = append(parts, "no ready address for "+outageLength(x))
	}
	if x.Evicted > 0 {
		parts = append(parts, phrase.Count(x.Evicted, "pod", "pods")+" evicted")
	}
	return strings.Join(parts, ", ")
}

// choice is a value of a filter, with how many incidents it would show.
type choice struct {
	Text, Link string
	Count      int
	Chosen     bool
}

// choose returns the incidents with the state and the verdict of a query, and what else could be chosen.
func choose(all []found, q *query.Query) (shown []found, states, verdicts []choice) {
	byState, byVerdict := map[string]int{}, map[string]int{}
	for _, x := range all {
		state, verdict := q.MatchesState(x.Incident), q.MatchesVerdict(x.Incident)
		if state && verdict {
			shown = append(shown, x)
		}
		if verdict {
			byState[string(x.State)]++
		}
		if state {
			byVerdict[x.Verdict.String()]++
		}
	}
	return shown, choicesOf(q, "state", string(q.State), query.States(), byState), choicesOf(q, "verdict", q.Verdict, query.Verdicts(), byVerdict)
}

// choicesOf returns all, then the values that an incident has, and the one that is chosen.
func choicesOf(q *query.Query, name, chosen string, values []string, counts map[string]int) []choice {
	all := choice{Text: "all", Link: pageLink(q.With(name, "")), Chosen: chosen == ""}
	choices := []choice{all}
	for _, v := range values {
		if n := counts[v]; n > 0 || v == chosen {
			choices = append(choices, choice{Text: v, Link: pageLink(q.With(name, v)), Count: n, Chosen: v == chosen})
			choices[0].Count += n
		}
	}
	return choices
}

func pageLink(query string) string { return strings.TrimSuffix("/flaps?"+query, "?") }

// paging is which of the incidents a page shows.
type paging struct {
	Page, Pages, Total int
	// Newer and Older are links, empty where there is no such page.
	Newer, Older string
	from, to     int
}

func pagingOf(q *query.Query, total int) paging {
	p := paging{Page: q.Page, Pages: max((total+pageSize-1)/pageSize, 1), Total: total}
	p.from = min((q.Page-1)*pageSize, total)
	p.to = min(p.from+pageSize, total)
	link := func(page int) string { return pageLink(q.With("page", strconv.Itoa(page))) }
	if p.Page > 1 {
		p.Newer = link(min(p.Page-1, p.Pages))
	}
	if p.Page < p.Pages {
		p.Older = link(p.Page + 1)
	}
	return p
}

// First and Last count the incidents of the page from 1.
func (p paging) First() int { return p.from + 1 }

// Last is the position of the page's last incident.
func (p paging) Last() int { return p.to }

// Missing reports whether there are fewer pages.
func (p paging) Missing() bool { return p.Page > p.Pages }
