package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// adviceGiven is the exit status if there is any advice.
const adviceGiven = 3

// adviser holds the flags of the advise command.
type adviser struct {
	instance
	output   string
	duration time.Duration
}

func registerAdvise(app *kingpin.Application) (string, command) {
	a := &adviser{}
	cmd := app.Command("advise", "Recommend what to change in a cluster, and why. Reads a live cluster, a recording (--recording) or a running kubeflap instance (--url). "+
		"Exit status: 0 without advice, 3 with advice, 1 after an error, 2 for an invalid command line.")
	a.addSources(cmd)
	addFlag(cmd, "for", "How long to observe a live cluster. Allow for several heartbeats, which are 10s apart. If you interrupt the command, the advice is based on the observations until then.",
		&a.duration, parsePositive).Default("2m")
	addFlag(cmd, "output", "Output format: text or json.", &a.output, oneOf("text", "json")).Default("text")
	return cmd.FullCommand(), a.advise
}

func (a *adviser) advise(p program) error {
	read := a.observe
	switch {
	case a.url != nil:
		read = a.fetch
	case a.recording != "":
		read = a.replay
	}
	given, failure := read(p)
	if given.Version == 0 {
		return failure
	}
	if err := cmp.Or(writeReport(p.out, given, a.output), failure); err != nil {
		return err
	}
	if given.Advice {
		return exitStatus{status: adviceGiven}
	}
	return nil
}

// fetch reads the report of a running kubeflap instance.
func (a *adviser) fetch(p program) (given report.Report, err error) {
	text, err := a.get(p.ctx, api.AdvicePath, a.query())
	if err != nil {
		return given, err
	}
	if err := json.Unmarshal(text, &given); err != nil || given.Version == 0 {
		return given, fmt.Errorf("%s is not kubeflap, or its version of kubeflap does not serve %s", a.url.Redacted(), api.AdvicePath)
	}
	return given, nil
}

// replay returns the report at the end of a recording. For a damaged recording, it returns both the report before the
// damage and an error.
func (a *adviser) replay(p program) (given report.Report, err error) {
	r, failure := replayAtOnce(p, *a.settings, period{}, a.recording)
	if r == nil {
		return given, failure
	}
	if given, err = r.pipelines[0].advice(""); err != nil {
		return given, cmp.Or(failure, fmt.Errorf("%s: %w", a.recording, err))
	}
	return given, failure
}

// observe watches a live cluster for the duration of --for, and returns the report.
func (a *adviser) observe(p program) (given report.Report, err error) {
	err = observe(p, a.cluster, *a.settings, a.duration, fmt.Sprintf("--for=%s", a.duration), func(_ context.Context, pipeline *pipeline) (err error) {
		p.logger.Info("observing", "for", a.duration)
		begin := time.Now()
		wait(p.ctx, a.duration)
		if p.ctx.Err() != nil {
			p.logger.Warn("interrupted: the advice is based on less time than --for", "observed", time.Since(begin).Round(time.Second), "for", a.duration)
		}
		given, err = pipeline.advice("")
		return err
	})
	return given, err
}

// writeReport prints a report. It escapes control characters, because the report may come from any server.
func writeReport(out io.Writer, given report.Report, format string) error {
	if format == "json" {
		return api.JSON(out, given)
	}
	var text strings.Builder
	report.WriteText(&text, given)
	if _, err := io.WriteString(out, phrase.Text(text.String())); err != nil {
		return fmt.Errorf("print the advice: %w", err)
	}
	return nil
}
