package web

import (
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// pageSize is the number of incidents per page.
const pageSize = 50

// paging describes the range of incidents on a page. Page, First and Last start at 1.
type paging struct {
	Page, Pages, First, Last, Total int
	// Newer and Older are links to the adjacent pages, or "".
	Newer, Older string
}

func pagingOf(q *api.Query, total int) paging {
	p := paging{Page: q.Page, Pages: max((total+pageSize-1)/pageSize, 1), First: min((q.Page-1)*pageSize, total) + 1, Last: min(q.Page*pageSize, total), Total: total}
	link := func(page int) string { return pageLink(q.WithPage(page)) }
	if p.Page > 1 {
		p.Newer = link(min(p.Page-1, p.Pages))
	}
	if p.Page < p.Pages {
		p.Older = link(p.Page + 1)
	}
	return p
}
