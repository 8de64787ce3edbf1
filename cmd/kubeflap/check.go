package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"go.yaml.in/yaml/v2"

	"github.com/kubeflap/kubeflap/exporter/check"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// flapped is the exit status if something flapped that should not have. cannotCheck is the one if nobody can tell.
	flapped, cannotCheck = 1, 2
	// listWithin is the longest time until all resources of a live cluster are listed.
	listWithin = time.Minute
	// settleFor is how long kubeflap waits at the end of the period for the events that belong to it.
	settleFor = time.Second
)

// checker holds the flags and arguments of the check command.
type checker struct {
	instance
	junit, allow string
	allowances   check.Allowances
	duration     time.Duration
	command      []string
	annotate     bool
	status       int // of the command
}

func registerCheck(app *kingpin.Application) (string, command) {
	c := &checker{allowances: check.Allowances{Blind: -1}}
	cmd := app.Command("check", "Fail if something flaps while a command runs, such as kubeflap check -- make e2e, or for a given time. "+
		"Watches a live cluster, or reads a recording (--recording) or a running kubeflap instance (--url). "+
		"If the command fails, its exit status is returned. Otherwise, 0 means no unexpected flap, 1 means that something flapped or kubeflap was blind, and 2 means an invalid command line or no access.")
	cmd.Arg("command", "The command to run, with its arguments, after --.").StringsVar(&c.command)
	addFlag(cmd, "for", "Watch for this time instead of running a command.", &c.duration, parsePositive).PlaceHolder("30m")
	c.addSources(cmd)
	c.between.addFlags(cmd, "Only for --url and for a --data.dir directory.")
	c.addAllowances(cmd)
	cmd.Flag("junit", "Also write the result to this file, as JUnit XML.").PlaceHolder("FILE").StringVar(&c.junit)
	cmd.Flag("github", "Also print annotations for GitHub Actions.").Envar("GITHUB_ACTIONS").BoolVar(&c.annotate)
	reject(cmd, func() bool { return c.recording != "" }, "to --recording", "for")
	reject(cmd, func() bool { return c.url == nil && c.recording == "" }, "to a live cluster", "from", "to")
	reject(cmd, func() bool { return len(c.command) > 0 }, "with a command", "recording", "for", "from", "to")
	reject(cmd, func() bool { return c.duration > 0 }, "with --for", "from", "to")
	cmd.Validate(func(*kingpin.CmdClause) error {
		if len(c.command) == 0 && c.duration == 0 && c.recording == "" && c.between.from.IsZero() {
			return errors.New("what to check is missing: give a command after --, --for, --recording, or --url with --from")
		}
		return nil
	})
	return cmd.FullCommand(), c.run
}

func (c *checker) addAllowances(cmd *kingpin.CmdClause) {
	a := &c.allowances
	addFlag(cmd, "allow.service", "Accept that a Service has no ready address for this time. With more than 0s, its addresses may flap.", &a.Service, parseDuration).Default("0s")
	addFlag(cmd, "allow.node", "Accept that a node is not Ready for this time. With more than 0s, its heartbeats may be late.", &a.Node, parseDuration).Default("0s")
	addFlag(cmd, "allow.planned", "Whether to accept planned departures and roll-outs while another address is ready.", &a.Planned, strconv.ParseBool).Default("true")
	addFlag(cmd, "allow.blind", "Accept that a resource is not watched for this time. kubeflap may miss flaps in that time. The default is 2m, but at most half of the period.", &a.Blind, parseDuration).PlaceHolder("DURATION")
	ignore := func(name, help, of string) {
		addFlag(cmd, name, help+" and can be repeated.", &a.Ignored, func(s string) ([]string, error) {
			_, err := path.Match(s, "")
			return append(a.Ignored, s+of), err //nolint:wrapcheck // the flag's name is added
		}).PlaceHolder("PATTERN")
	}
	ignore("ignore.namespace", "Ignore the Services of a namespace. Can be a pattern such as test-*,", "/*")
	ignore("ignore.name", "Ignore a node or a Service, such as shop/web. Can be a pattern such as shop/test-*,", "")
	cmd.Flag("allow", "YAML file with the values of these flags, by their names. Flags of the command line take precedence.").PlaceHolder("FILE").StringVar(&c.allow)
	cmd.Action(func(given *kingpin.ParseContext) error { return c.readAllowances(cmd, given) })
}

// readAllowances sets the flags in the file of --allow, except those that the command line sets.
func (c *checker) readAllowances(cmd *kingpin.CmdClause, given *kingpin.ParseContext) error {
	if c.allow == "" {
		return nil
	}
	values := map[string]any{}
	text, err := os.ReadFile(c.allow)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &values)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flag := cmd.GetFlag(name)
		if flag == nil || !strings.HasPrefix(name, "allow.") && !strings.HasPrefix(name, "ignore.") {
			err = cmp.Or(err, fmt.Errorf("%q is not the name of an allowance", name))
		} else if slices.ContainsFunc(given.Elements, func(x *kingpin.ParseElement) bool { return x.Clause == flag }) {
			continue
		}
		all, isList := values[name].([]any)
		if !isList {
			all = []any{values[name]}
		}
		for _, x := range all {
			if err == nil {
				err = flag.Model().Value.Set(fmt.Sprint(x))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("--allow=%s: %w", c.allow, err)
	}
	return nil
}

func (c *checker) run(p program) error {
	ask := c.watch
	switch {
	case c.recording != "":
		ask = c.replay
	case c.url != nil:
		ask = c.ask
	}
	answer, err := ask(p)
	if err == nil {
		err = c.report(p, answer)
	}
	if err != nil {
		c.status = cmp.Or(c.status, cannotCheck)
	}
	if c.status == 0 {
		return nil
	}
	return exitStatus{c.status, err}
}

// runCommand runs the command until it ends, and keeps its status. The command writes directly to standard error: the queue
// of the log drops lines, and would end only with the last process that the command leaves running.
func (c *checker) runCommand(p program) error {
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run := exec.CommandContext(terminated, c.command[0], c.command[1:]...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, p.out, p.log.out
	run.Cancel = func() error { // the terminal interrupts the command itself
		stop() // another SIGTERM ends kubeflap
		return run.Process.Signal(syscall.SIGTERM)
	}
	err := run.Run()
	if run.ProcessState == nil {
		return fmt.Errorf("run the command: %w", err)
	}
	if err != nil {
		c.status = max(run.ProcessState.ExitCode(), flapped) // the code is -1 after a signal
	}
	return nil
}

// during runs the command, or waits for the duration of --for or an interrupt. The period begins now by the clock of the
// source.
func (c *checker) during(p program, now time.Time) error {
	c.between.from = now
	if len(c.command) == 0 {
		p.logger.Info("checking", "for", c.duration)
		wait(p.ctx, c.duration)
		c.between.to = now.Add(c.duration) // the time after an interrupt is not watched
	} else if err := c.runCommand(p); err != nil {
		return err
	}
	time.Sleep(settleFor)
	return nil
}

// watch watches a live cluster.
func (c *checker) watch(p program) (*api.Answer, error) {
	var watched *pipeline
	err := observe(p, c.cluster, *c.settings, listWithin, listWithin.String(), func(_ context.Context, pipeline *pipeline) error {
		watched = pipeline
		return c.during(p, time.Now())
	})
	if err != nil {
		return nil, err
	}
	watched.finish() // a loss may still wait for its cause
	answer := web.Answer([]web.Cluster{watched.cluster()}, &api.Query{})
	return &answer, nil
}

// replay reads a recording.
func (c *checker) replay(p program) (*api.Answer, error) {
	answer, _, err := c.instance.replay(p, *c.settings, &api.Query{})
	if err == nil && answer.Coverage.Since.IsZero() {
		err = fmt.Errorf("%s ends before all resources were listed", c.sourceName)
	}
	return answer, err
}

// ask asks a running kubeflap instance.
func (c *checker) ask(p program) (*api.Answer, error) {
	if !c.between.from.IsZero() {
		return c.readIncidents(p)
	}
	before, err := c.readIncidents(p)
	if err == nil {
		err = c.during(p, before.AsOf)
	}
	if err != nil {
		return nil, err
	}
	p.ctx = context.WithoutCancel(p.ctx) // an interrupted command still has to be judged
	return c.readIncidents(p)
}

// report judges the period, prints the result, and writes it to the files that the flags name.
func (c *checker) report(p program, answer *api.Answer) (err error) {
	from, to := cmp.Or(c.between.from, answer.Coverage.Since.Time), cmp.Or(c.between.to, answer.AsOf)
	if to.Before(from) {
		return fmt.Errorf("--from is in the future: for %s, it is %s", c.sourceName, phrase.Moment(answer.AsOf))
	}
	result := check.Judge(answer, from, to, &c.allowances)
	if c.status == 0 && !result.Passed() {
		c.status = flapped
	}
	text := result.Text()
	if c.annotate {
		text = result.GitHub() + text
	}
	if c.junit != "" {
		err = os.WriteFile(c.junit, []byte(result.JUnit()), 0o644) //nolint:gosec // like all reports of a test run
	}
	_, failure := fmt.Fprint(p.out, text)
	return errors.Join(err, failure)
}
