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
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/printable"
)

//go:embed page
var files embed.FS

// flapsPage is the data of the template of /flaps.
type flapsPage struct {
	Query      query
	From, To   string
	AsOf       string
	Error      string
	Cards      []card
	Unwatched  []unwatchedRow
	Running    int
	Pending    int
	Causes     []string
	Clusters   []string
	Namespaces []string
	Services   []string
	Nodes      []string
	// Active are the filters of the query, in words.
	Active   []string
	Filtered bool
	// Detailed shows the evidence of each incident: there is only one.
	Detailed bool
}

// card is an incident as the page shows it.
type card struct {
	*found
	Link, Cluster, StateText, ScopeText, Where string
	When, Lasted                               string
	Figures                                    []figure
	Timeline                                   *timeline
	Evidence                                   []evidenceRow
	Effects                                    []effectRow
	Detailed                                   bool
}

type figure struct{ Value, What string }

type evidenceRow struct{ Time, Until, Text string }

type effectRow struct{ Link, Name, Text string }

func flapsHandler(clusters []Cluster, logger *slog.Logger) (http.Handler, error) {
	page, err := template.ParseFS(files, "page/flaps.html")
	if err != nil {
		return nil, fmt.Errorf("parse the incidents page: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		q, err := parseQuery(r.URL.RawQuery)
		view := flapsPage{Query: q}
		switch {
		case err != nil:
			status = http.StatusBadRequest
			view = flapsPage{Error: capital(err.Error())}
		default:
			view = viewOf(clusters, q)
			if q.ID != "" && len(view.Cards) == 0 {
				status = http.StatusNotFound
			}
		}
		var text bytes.Buffer
		if err := page.Execute(&text, view); err != nil {
			logger.Error("cannot render the incidents page", "err", err)
			http.Error(w, "The page could not be rendered. The log says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// The template escapes markup. printable.Text escapes invisible characters and those that reverse text.
		// An error means that the client is gone.
		_, _ = io.WriteString(w, printable.Text(text.String()))
	}), nil
}

func styleHandler(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, files, "page/flaps.css")
}

func viewOf(clusters []Cluster, q query) flapsPage {
	view := flapsPage{Query: q, From: formText(q.From), To: formText(q.To), Filtered: !q.isEmpty()}
	view.Active = q.active()
	all, asOf := find(clusters, &q)
	view.AsOf = moment(asOf)
	view.Unwatched = unwatchedRows(unwatchedOf(clusters, &q), asOf)
	view.Detailed = q.ID != "" || len(all) == 1
	for _, c := range cause.All() {
		view.Causes = append(view.Causes, c.String())
	}
	for _, c := range clusters {
		if c.Name != "" {
			view.Clusters = append(view.Clusters, c.Name)
		}
	}
	for i := range all {
		switch all[i].State {
		case incident.StateRunning:
			view.Running++
		case incident.StatePending:
			view.Pending++
		}
		view.Cards = append(view.Cards, cardOf(&all[i], view.Detailed))
	}
	view.suggest(all)
	return view
}

// maxSuggestions bounds the suggestions of each filter field.
const maxSuggestions = 200

func (p *flapsPage) suggest(all []found) {
	namespaces, services, nodes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range all {
		for _, s := range all[i].Services {
			namespaces[s.Namespace], services[s.Name] = true, true
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

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func formText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(formTime)
}
