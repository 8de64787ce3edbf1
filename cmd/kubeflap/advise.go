package main

import (
	"cmp"
	"context"
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
	reject(cmd, func() bool { return a.recording != "" }, "to --recording", "for")
	reject(cmd, func() bool { return a.url != nil }, "to --url", "for")
	return cmd.FullCommand(), a.advise
}

func (a *adviser) advise(p program) error {
	given, failure := a.read(p)
	if given.Version == 0 {
		return failure
	}
	var text strings.Builder // which returns no errors
	if a.output == "json" {
		_ = api.JSON(&text, given)
	} else {
		report.WriteText(&text, given)
	}
	// Escape control characters, because the report may come from any server.
	if _, err := io.WriteString(p.out, phrase.Text(text.String())); err != nil {
		return fmt.Errorf("print the advice: %w", err)
	}
	if failure == nil && given.Advice {
		return exitStatus{status: adviceGiven}
	}
	return failure
}

// read returns the report. For a damaged recording, it returns both the report before the damage and an error.
func (a *adviser) read(p program) (given report.Report, err error) {
	switch {
	case a.url != nil:
		err = a.instance.read(p, api.AdvicePath, &given, func() bool { return given.Version > 0 })
	case a.recording != "":
		r, failure := replayAtOnce(p, *a.settings, period{}, a.recording)
		if r == nil {
			return given, failure
		}
		if given, err = r.pipelines[0].advice(); err != nil {
			err = fmt.Errorf("%s: %w", a.recording, err)
		}
		err = cmp.Or(failure, err)
	default:
		err = observe(p, a.cluster, *a.settings, a.duration, fmt.Sprintf("--for=%s", a.duration), func(_ context.Context, pipeline *pipeline) (err error) {
			a.wait(p)
			given, err = pipeline.advice()
			return err
		})
	}
	return given, err
}

// wait waits for the duration of --for, or for an interrupt.
func (a *adviser) wait(p program) {
	p.logger.Info("observing", "for", a.duration)
	begin := time.Now()
	wait(p.ctx, a.duration)
	if p.ctx.Err() != nil {
		p.logger.Warn("interrupted: the advice is based on less time than --for", "observed", time.Since(begin).Round(time.Second), "for", a.duration)
	}
}
