package web

import (
	"strconv"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// pageSize is the number of incidents per page.
const pageSize = 50

// choice is a possible value of a filter, with the number of matching incidents.
type choice struct {
	Text, Link string
	Count      int
	Chosen     bool
}

// choicesOf returns the choice "all", the values that occur in the incidents, and the chosen value.
func choicesOf(q *api.Query, name, chosen string, values []string, counts map[string]int) []choice {
	choices := []choice{{Text: "all", Link: pageLink(q.With(name, "")), Chosen: chosen == ""}}
	for _, v := range values {
		if n := counts[v]; n > 0 || v == chosen {
			choices = append(choices, choice{v, pageLink(q.With(name, v)), n, v == chosen})
			choices[0].Count += n
		}
	}
	return choices
}

// paging describes the range of incidents on a page. Page, First and Last start at 1.
type paging struct {
	Page, Pages, First, Last, Total int
	// Newer and Older are links to the adjacent pages, or "".
	Newer, Older string
}

func pagingOf(q *api.Query, total int) paging {
	p := paging{Page: q.Page, Pages: max((total+pageSize-1)/pageSize, 1), First: min((q.Page-1)*pageSize, total) + 1, Last: min(q.Page*pageSize, total), Total: total}
	link := func(page int) string { return pageLink(q.With("page", strconv.Itoa(page))) }
	if p.Page > 1 {
		p.Newer = link(min(p.Page-1, p.Pages))
	}
	if p.Page < p.Pages {
		p.Older = link(p.Page + 1)
	}
	return p
}
