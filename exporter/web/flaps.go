package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

//go:embed page
var files embed.FS

// maxCards is the maximum number of cards below the table.
const maxCards = 10

// flapsPage holds the template data of /flaps.
type flapsPage struct {
	Query             *api.Query
	Title, Icon, AsOf string
	Error             string
	Recorded          bool
	Coverage          api.Coverage
	GracePeriods      []controlplane.Table
	// Before is set if the page's period begins before kubeflap started to watch. Future is set if the page's period
	// has not begun.
	Before, Future bool
	// Known is the number of incidents that match the query, regardless of state and verdict. Total is the number of
	// incidents that also match the state and the verdict.
	Known, Running, Pending, Total int
	// Open is the number of incidents that were ongoing when their recording ended. These incidents do not count as
	// Running or Pending.
	Open             int
	States, Verdicts []choice
	// Rows are the incidents in the table. Cards are the incidents with a card below the table.
	Rows, Cards  []clusterIncident
	Paging       paging
	CardsLeftOut int
	// Clusters, Namespaces, Services and Nodes are suggestions for the filters.
	Clusters, Namespaces, Services, Nodes []string
	// Detailed is set if the page shows a single incident with its evidence.
	Detailed bool
}

// Missing returns a sentence for each reason why incidents may be missing.
func (p *flapsPage) Missing() []string { return p.Coverage.Missing(p.Query.From) }

// Causes returns the choices for the cause.
func (p *flapsPage) Causes() []string { return api.Causes() }

func flapsHandler(clusters []Cluster, logger *slog.Logger) (http.Handler, error) {
	page, err := template.New("flaps.html").Funcs(template.FuncMap{"moment": phrase.Moment, "clock": phrase.Clock}).ParseFS(files, "page/flaps.html")
	if err != nil {
		return nil, fmt.Errorf("parse the incidents page: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view, status := answerTo(clusters, r.URL.RawQuery)
		var text bytes.Buffer
		if err := page.Execute(&text, view); err != nil {
			logger.Error("cannot render the incidents page", "err", err)
			http.Error(w, "The page could not be rendered. See kubeflap's log.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// The template escapes markup. phrase.Text escapes invisible characters and characters that reverse text. A
		// write error means that the client has disconnected.
		_, _ = io.WriteString(w, phrase.Text(text.String()))
	}), nil
}

// fileHandler serves an embedded file of the page.
func fileHandler(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, files, "page/"+name)
	}
}

func answerTo(clusters []Cluster, rawQuery string) (view *flapsPage, status int) {
	q, err := api.ParsePage(rawQuery)
	if err == nil {
		err = checkCluster(clusters, &q)
	}
	if err != nil {
		return &flapsPage{Error: phrase.Sentence(err.Error()), Title: "Error · kubeflap", Icon: iconLink(0, true)}, http.StatusBadRequest
	}
	view = viewOf(clusters, q)
	if view.Paging.Missing() || q.ID != "" && view.Total == 0 {
		return view, http.StatusNotFound
	}
	return view, http.StatusOK
}

func viewOf(clusters []Cluster, q api.Query) *flapsPage {
	view := &flapsPage{Query: &q}
	for _, c := range clusters {
		view.Recorded = view.Recorded || c.Recorded
		if c.Name != "" {
			view.Clusters = append(view.Clusters, c.Name)
		}
	}
	answer, every := read(clusters, &q)
	all := find(every, &q)
	// With several recordings, there is no common current time.
	if !answer.AsOf.IsZero() && len(view.Clusters) == 0 {
		view.AsOf = phrase.Moment(answer.AsOf)
	}
	view.Coverage, view.GracePeriods = answer.Coverage, answer.GracePeriods
	view.Before = view.Coverage.Since != nil && !q.From.IsZero() && q.From.Before(*view.Coverage.Since)
	view.Future = q.From.After(answer.AsOf)
	view.suggest(all)
	view.list(all)
	running := runningIn(every, &q)
	view.Title, view.Icon = view.title(running), iconLink(running, len(view.Coverage.NotWatched) > 0)
	return view
}

// list fills in the incidents that match the query's state and verdict.
func (p *flapsPage) list(all []clusterIncident) {
	var shown []clusterIncident
	shown, p.States, p.Verdicts = choose(all, p.Query)
	labelOpen(p.States, all)
	p.Known, p.Total = len(all), len(shown)
	for i := range shown {
		switch {
		case shown[i].isOpen():
			p.Open++
		case shown[i].State == running:
			p.Running++
		case shown[i].State == pending:
			p.Pending++
		}
	}
	p.Paging = pagingOf(p.Query, len(shown))
	shown = shown[p.Paging.from:p.Paging.to]
	if p.Detailed = p.Total == 1 && len(shown) == 1; !p.Detailed {
		p.Rows = shown
	}
	for _, x := range shown {
		switch {
		case !p.Detailed && x.State == string(incident.StateEnded):
		case len(p.Cards) == maxCards:
			p.CardsLeftOut++
		default:
			p.Cards = append(p.Cards, x.complete())
		}
	}
}

// title returns the page title, which browser tabs show. It starts with the number of running incidents, and with
// "blind" if some resources are not watched. Of all filters, only the cluster affects this number.
func (p *flapsPage) title(running int) string {
	title := "Incidents · kubeflap"
	if p.Detailed {
		title = p.Cards[0].What() + " · kubeflap"
	}
	switch blind := len(p.Coverage.NotWatched) > 0; {
	case blind && running > 0:
		return fmt.Sprintf("(%d, blind) %s", running, title)
	case blind:
		return "(blind) " + title
	case running > 0:
		return fmt.Sprintf("(%d) %s", running, title)
	}
	return title
}

// maxSuggestions is the maximum number of suggestions for each filter field.
const maxSuggestions = 200

func (p *flapsPage) suggest(all []clusterIncident) {
	namespaces, services, nodes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range all {
		for _, s := range all[i].Services {
			namespaces[s.Namespace], services[s.Service] = true, true
		}
		for _, n := range all[i].Nodes {
			nodes[n] = true
		}
	}
	first := func(m map[string]bool) []string {
		names := slices.Sorted(maps.Keys(m))
		return names[:min(len(names), maxSuggestions)]
	}
	p.Namespaces, p.Services, p.Nodes = first(namespaces), first(services), first(nodes)
}
