package web

import (
	"slices"
	"strconv"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// pageSize is the number of incidents per page.
const pageSize = 50

// choice is a possible value of a filter, with the number of matching incidents. Label is the value in words.
type choice struct {
	Text, Label, Link string
	Count             int
	Chosen            bool
}

// choose returns the incidents that match a query's state and verdict, and the available choices for these two filters.
func choose(all []clusterIncident, q *api.Query) (shown []clusterIncident, states, verdicts []choice) {
	byState, byVerdict := map[string]int{}, map[string]int{}
	for _, x := range all {
		state, verdict := q.MatchesState(x.Incident), q.MatchesVerdict(x.Incident)
		if state && verdict {
			shown = append(shown, x)
		}
		if verdict {
			byState[x.State]++
		}
		if state {
			byVerdict[x.Verdict]++
		}
	}
	return shown, choicesOf(q, "state", q.State, api.States(), byState), choicesOf(q, "verdict", q.Verdict, api.Verdicts(), byVerdict)
}

// choicesOf returns the choice "all", the values that occur in the incidents, and the chosen value.
func choicesOf(q *api.Query, name, chosen string, values []string, counts map[string]int) []choice {
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
	runs := func(open bool) bool {
		return slices.ContainsFunc(all, func(x clusterIncident) bool { return x.State == running && x.isOpen() == open })
	}
	for i := range states {
		if states[i].Text == running && runs(true) && !runs(false) {
			states[i].Label = "open"
		}
	}
}

// paging describes the range of incidents on a page.
type paging struct {
	Page, Pages, Total int
	// Newer and Older are links to the adjacent pages, or "".
	Newer, Older string
	from, to     int
}

func pagingOf(q *api.Query, total int) paging {
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
