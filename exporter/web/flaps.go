package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

//go:embed page
var files embed.FS

// maxRows is the maximum number of incidents in the list. The filter finds the others.
const maxRows = 100

// flapsPage holds the template data of /flaps.
type flapsPage struct {
	Query              *api.Query
	Title, AsOf, Error string
	Recorded           bool
	Coverage           api.Coverage
	GracePeriods       []controlplane.Table
	// Before is set if the page's period begins before kubeflap started to watch. Future is set if the page's period
	// has not begun.
	Before, Future bool
	// Total is the number of incidents that match the query, and Counts has their numbers by state.
	Total  int
	Counts map[string]int
	// Rows are the first maxRows incidents of the list. One is the only incident that matches the query, or nil.
	Rows []clusterIncident
	One  *clusterIncident
	// Clusters are the choices for the cluster.
	Clusters []string
}

// Missing returns a sentence for each reason why incidents may be missing.
func (p *flapsPage) Missing() []string { return p.Coverage.Missing(p.Query.From) }

// Causes, States and Verdicts return the choices for these filters.
func (p *flapsPage) Causes() []string            { return api.Causes() }
func (p *flapsPage) States() []string            { return api.States() }
func (p *flapsPage) Verdicts() []verdict.Verdict { return verdict.All() }

func flapsHandler(clusters []Cluster, logger *slog.Logger) http.HandlerFunc {
	page := template.Must(template.New("flaps.html").Funcs(template.FuncMap{"moment": phrase.Moment, "clock": phrase.Clock}).ParseFS(files, "page/flaps.html"))
	return func(w http.ResponseWriter, r *http.Request) {
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
	}
}

// fileHandler serves an embedded file of the page.
func fileHandler(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, files, "page/"+name)
	}
}

func answerTo(clusters []Cluster, rawQuery string) (view *flapsPage, status int) {
	q, err := parse(clusters, rawQuery, api.ParseQuery)
	if err != nil {
		return &flapsPage{Error: phrase.Sentence(err.Error()), Title: "Error · kubeflap"}, http.StatusBadRequest
	}
	view = viewOf(clusters, q)
	if q.ID != "" && view.Total == 0 {
		return view, http.StatusNotFound
	}
	return view, http.StatusOK
}

func viewOf(clusters []Cluster, q api.Query) *flapsPage {
	view := &flapsPage{Query: &q, Counts: map[string]int{}}
	for _, c := range clusters {
		view.Recorded = view.Recorded || c.Recorded
		if c.Name != "" {
			view.Clusters = append(view.Clusters, c.Name)
		}
	}
	answer, every := read(clusters, &q)
	// With several recordings, there is no common current time.
	if !answer.AsOf.IsZero() && len(view.Clusters) == 0 {
		view.AsOf = phrase.Moment(answer.AsOf)
	}
	view.Coverage, view.GracePeriods = answer.Coverage, answer.GracePeriods
	view.Before = !q.From.IsZero() && q.From.Before(view.Coverage.Since.Time)
	view.Future = q.From.After(answer.AsOf)
	view.list(find(every, &q))
	view.Title = view.title(every)
	return view
}

// list fills in the incidents that match the query.
func (p *flapsPage) list(all []clusterIncident) {
	for _, x := range all {
		p.Counts[x.State.String()]++
	}
	p.Total = len(all)
	for _, x := range all[:min(len(all), maxRows)] {
		p.Rows = append(p.Rows, x.complete())
	}
	if p.Total == 1 {
		p.One, p.Rows = &p.Rows[0], nil
	}
}

// GraceTable returns the comparison of grace periods in the cluster of an incident about heartbeats, or nil.
func (p *flapsPage) GraceTable() *controlplane.Table {
	i := slices.IndexFunc(p.GracePeriods, func(t controlplane.Table) bool { return t.Cluster == p.One.Cluster })
	if i < 0 || p.One.Cause != cause.NodeHeartbeatLost {
		return nil
	}
	return &p.GracePeriods[i]
}

// title returns the page title, which browser tabs show. It starts with the number of ongoing incidents, and with
// "blind" if some resources are not watched. Of all filters, only the cluster affects this number.
func (p *flapsPage) title(every []clusterIncident) string {
	ongoing, title := 0, "Incidents · kubeflap"
	for _, x := range every {
		if p.Query.MatchesCluster(x.Cluster) && x.State == incident.StateOngoing {
			ongoing++
		}
	}
	if p.One != nil {
		title = p.One.What() + " · kubeflap"
	}
	switch blind := len(p.Coverage.NotWatched) > 0; {
	case blind && ongoing > 0:
		return fmt.Sprintf("(%d, blind) %s", ongoing, title)
	case blind:
		return "(blind) " + title
	case ongoing > 0:
		return fmt.Sprintf("(%d) %s", ongoing, title)
	}
	return title
}
