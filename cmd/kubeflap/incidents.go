package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// incidentLister holds the flags and arguments of the incidents command.
type incidentLister struct {
	instance
	// file is a recording or a --data.dir directory. It is empty for a running kubeflap.
	file, output string
	// header describes the recording.
	header recording.Header
}

func registerIncidents(app *kingpin.Application) (string, command) {
	a := &incidentLister{}
	cmd := app.Command("incidents", "List the incidents of a recording or of a running kubeflap instance, or show one in full. Without FILE, the command connects through the API server to the kubeflap instance in the kubeconfig's cluster. This requires permission to get services/proxy.")
	cmd.Arg("file", "A recording, as written by kubeflap record, or a --data.dir directory. If the name looks like an ID, write ./NAME.").SetValue(fileOrID{a})
	cmd.Arg("id", "Show this incident in full. The first characters of its ID are enough, at least 4.").SetValue(fileOrID{a})
	a.addFlags(cmd)
	a.between.addFlags(cmd, "A running kubeflap lists incidents that were ongoing in the period. From a --data.dir directory, only the period is replayed.")
	addFlag(cmd, "output", "Output format: table, wide, json or markdown. wide adds the cause and a summary. markdown shows all incidents in full, for a post-mortem.",
		&a.output, oneOf("table", "wide", "json", "markdown")).Short('o').Default("table")
	running := append([]string{"service"}, forCluster...)
	reject(cmd, func() bool { return a.file != "" }, "to a recording"+notID, append(running, "url", "url.config", "url.cluster")...)
	reject(cmd, func() bool { return a.url != nil }, "to --url", running...)
	reject(cmd, func() bool { return a.url == nil }, "without --url", "url.config")
	return cmd.FullCommand(), a.printIncidents
}

// notID explains why an argument is taken for a recording.
const notID = " (an ID has only the characters 0-9 and a-f)"

// fileOrID is an argument: an incident's ID, or the name of a recording.
type fileOrID struct{ *incidentLister }

// Set implements kingpin.Value.
func (v fileOrID) Set(s string) error {
	into, what := &v.file, "recordings: give one"+notID
	if api.IsID(s) {
		into, what = &v.id, "IDs: give one"
	}
	if *into != "" {
		return fmt.Errorf("%s and %s are two %s", *into, s, what)
	}
	*into = s
	return nil
}

// String implements kingpin.Value.
func (v fileOrID) String() string { return "" }

// printIncidents prints the incidents. From a damaged recording, it prints the incidents before the damage, and returns
// the error.
func (a *incidentLister) printIncidents(p program) error {
	if a.id != "" && len(a.id) < api.MinPrefix {
		return fmt.Errorf("%q is not an incident's ID: enter at least the first %d characters of the ID", a.id, api.MinPrefix)
	}
	q, err := api.ParseQuery(a.query().Encode())
	if err != nil {
		return err //nolint:wrapcheck // the error names the parameter
	}
	read := a.readIncidents
	if a.file != "" {
		a.recording = a.file
		read = func(p program) (answer *api.Answer, err error) {
			answer, a.header, err = a.replay(p, defaultSettings(), &q)
			return answer, err
		}
	}
	answer, failure := read(p)
	if answer == nil || answer.AsOf.IsZero() {
		return failure
	}
	return errors.Join(a.print(p, answer, &q), failure)
}

func (a *incidentLister) print(p program, answer *api.Answer, q *api.Query) error {
	missing, document := answer.Coverage.Missing(a.between.from), any(answer)
	if from, since := a.between.from, answer.Coverage.Since.Time; !from.IsZero() && since.After(from) {
		missing = append(missing, "Not everything was watched before "+phrase.Moment(since)+", so incidents may be missing.")
	}
	if a.id != "" {
		switch n := len(answer.Incidents); {
		case n == 0:
			return fmt.Errorf("%s: no incident has an ID that begins with %s; kubeflap drops the oldest incidents (--incidents.size)", a.sourceName, a.id)
		case n > 1:
			return fmt.Errorf("%s: %d incidents have an ID that begins with %s", a.sourceName, n, a.id)
		}
		missing, document = nil, &answer.Incidents[0]
	}
	for _, text := range append(answer.Coverage.Unwatched(), missing...) {
		fmt.Fprintln(p.log, "Warning: "+phrase.Line(text))
	}
	switch {
	case a.output == "json":
		return api.JSON(p.out, document)
	case a.output == "markdown":
		return a.printMarkdown(p, answer, q)
	case a.id != "":
		return api.Full(p.out, &answer.Incidents[0])
	case len(answer.Incidents) == 0:
		fmt.Fprintln(p.log, "No incidents"+filtered(q)+". Read from "+phrase.Line(a.sourceName)+".")
		return nil
	}
	return api.Table(p.out, answer, a.output == "wide", "")
}

func (a *incidentLister) printMarkdown(p program, answer *api.Answer, q *api.Query) error {
	origin := "kubeflap " + cmp.Or(version.Version, "(unknown version)") + " from " + a.sourceName
	if !a.header.Recorded.IsZero() {
		origin += " of " + phrase.Moment(a.header.Recorded)
	}
	if a.header.Kubernetes != "" {
		origin += ", Kubernetes " + a.header.Kubernetes
	}
	if a.header.Title != "" {
		origin += ": " + a.header.Title
	}
	if a.header.Anonymised {
		origin += ". Names are pseudonyms"
	}
	return api.Markdown(p.out, answer, origin, filtered(q))
}

// filtered describes the list's filters.
func filtered(q *api.Query) string {
	if active := q.Active(); len(active) > 0 {
		return " (" + phrase.Line(strings.Join(active, ", ")) + ")"
	}
	return ""
}
