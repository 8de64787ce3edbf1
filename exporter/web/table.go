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

// pageSize is the number of incidents per page.
const pageSize = 50

// heading holds the common fields of table rows and cards.
type heading struct {
	*clusterIncident
	// Key identifies the incident across all clusters.
	Key, Link, Cluster string
	// StateText is the state in words. StateNote adds the time or duration.
	StateText, StateNote string
	// Kind and Name describe the subject.
	Kind, Name string
	// Since is the start of the incident. Lasted is its duration, or empty if StateNote contains the duration.
	Since, Lasted string
}

// row is an incident in the table.
type row struct {
	heading
	Hit string
	// Down is set if one of the incident's Services currently has no ready address.
	Down bool
}

func rowOf(x *clusterIncident) row {
	return row{heading: headingOf(x), Hit: hitOf(x), Down: slices.ContainsFunc(x.Services, func(s incident.Service) bool { return s.Down })}
}

func headingOf(x *clusterIncident) heading {
	h := heading{clusterIncident: x, Key: x.ID, Link: linkOf(x), Cluster: x.cluster.Name, StateText: stateText(x), StateNote: stateNote(x), Since: moment(x.Start)}
	if x.number > 0 {
		h.Key += "-" + strconv.Itoa(x.number)
	}
	h.Kind, h.Name = subjectOf(x)
	switch {
	case !x.End.IsZero():
		h.Lasted = "for " + length(x.Lasted(x.asOf))
	case x.isOpen():
		h.Lasted = "for at least " + length(x.Lasted(x.asOf))
	case x.cluster.Recorded:
		h.Lasted = "for " + length(x.Lasted(x.asOf)) + " so far"
	}
	return h
}

// What returns the incident's subject with its kind.
func (h *heading) What() string { return strings.TrimSuffix(h.Kind+" "+h.Name, " ") }

// linkOf returns a link that works at every replica, even at one that started during the incident.
func linkOf(x *clusterIncident) string {
	link, at := url.Values{"id": {x.ID}}, x.Start
	if !x.End.IsZero() {
		at = x.End
	}
	if subject := query.SubjectOf(x.Incident); len(subject) <= query.MaxSubject {
		link.Set("subject", subject)
		link.Set("at", strconv.FormatInt(at.Unix(), 10))
	}
	return pageLink(inCluster(x, link))
}

// stateText returns the state in words. It is "open" for incidents that were ongoing when their recording ended.
func stateText(x *clusterIncident) string {
	if x.isOpen() {
		return "open"
	}
	return string(x.State)
}

// stateNote returns details about the state. For recordings, it contains times instead of ages, because ages depend on
// the user's clock.
func stateNote(x *clusterIncident) string {
	switch {
	case x.isOpen() && x.State == incident.StatePending:
		return "at the end of the recording; nothing was lost yet"
	case x.isOpen():
		return "at the end of the recording"
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

// timeAfter formats the time t. It omits the date if t has the same date as the earlier time.
func timeAfter(earlier, t time.Time) string {
	if earlier.UTC().Format(time.DateOnly) == t.UTC().Format(time.DateOnly) {
		return t.UTC().Format(time.TimeOnly)
	}
	return moment(t)
}

// subjectOf returns an incident's subject and its kind.
func subjectOf(x *clusterIncident) (kind, name string) {
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

// hitOf summarizes an incident's effects.
func hitOf(x *clusterIncident) string {
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

// choice is a possible value of a filter, with the number of matching incidents. Label is the value in words.
type choice struct {
	Text, Label, Link string
	Count             int
	Chosen            bool
}

// choose returns the incidents that match a query's state and verdict, and the available choices for these two filters.
func choose(all []clusterIncident, q *query.Query) (shown []clusterIncident, states, verdicts []choice) {
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

// choicesOf returns the choice "all", the values that occur in the incidents, and the chosen value.
func choicesOf(q *query.Query, name, chosen string, values []string, counts map[string]int) []choice {
	all := choice{Text: "all", Label: "all", Link: pageLink(q.With(name, "")), Chosen: chosen == ""}
	choices := []choice{all}
	for _, v := range values {
		if n := counts[v]; n > 0 || v == chosen {
			choices = append(choices, choice{Text: v, Label: v, Link: pageLink(q.With(name, v)), Count: n, Chosen: v == chosen})
			choices[0].Count += n
		}
	}
	return choices
}

// labelOpen labels the choice for running incidents as "open" if all of their recordings have ended.
func labelOpen(states []choice, all []clusterIncident) {
	live := slices.ContainsFunc(all, func(x clusterIncident) bool { return x.State == incident.StateRunning && !x.finished })
	open := slices.ContainsFunc(all, func(x clusterIncident) bool { return x.State == incident.StateRunning && x.finished })
	for i := range states {
		if states[i].Text == string(incident.StateRunning) && open && !live {
			states[i].Label = "open"
		}
	}
}

func pageLink(query string) string { return strings.TrimSuffix("/flaps?"+query, "?") }

// paging describes the range of incidents on a page.
type paging struct {
	Page, Pages, Total int
	// Newer and Older are links to the adjacent pages, or "".
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

// First returns the position of the page's first incident, starting at 1.
func (p paging) First() int { return p.from + 1 }

// Last returns the position of the page's last incident.
func (p paging) Last() int { return p.to }

// Missing reports whether the page number is greater than the number of pages.
func (p paging) Missing() bool { return p.Page > p.Pages }
