package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/check"
	"github.com/kubeflap/kubeflap/exporter/event"
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
	// allowances are the flags that change those of the file.
	allowances []func(*check.Allowances)
	duration   time.Duration
	command    []string
	annotate   bool
	status     int // of the command
}

func registerCheck(app *kingpin.Application) (string, command) {
	c := &checker{}
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
	cmd.Flag("allow", "YAML file with allowances. Flags take precedence.").PlaceHolder("FILE").StringVar(&c.allow)
	duration := func(name, help string, of func(*check.Allowances) *model.Duration) {
		allow(c, cmd, name, help, parseDuration, func(a *check.Allowances, d time.Duration) { *of(a) = model.Duration(d) }).PlaceHolder("DURATION")
	}
	duration("allow.service", "Accept that a Service has no ready address for this time, and that its addresses flap.",
		func(a *check.Allowances) *model.Duration { return &a.Service })
	duration("allow.node", "Accept that a node is not Ready for this time, and that it flaps.",
		func(a *check.Allowances) *model.Duration { return &a.Node })
	duration("allow.blind", "Accept that a resource is not watched for this time. The default is 2m, but at most half of the period. kubeflap may miss flaps in that time.",
		func(a *check.Allowances) *model.Duration { return &a.Blind })
	allow(c, cmd, "allow.planned", "Whether to accept planned departures and roll-outs while another address is ready. The default is true.",
		strconv.ParseBool, func(a *check.Allowances, planned bool) { a.Planned = planned }).PlaceHolder("true|false")
	pattern := func(s string) ([]string, error) { return []string{s}, check.Patterns([]string{s}) }
	allow(c, cmd, "ignore.namespace", "Ignore a namespace. Can be a pattern such as test-*, and can be repeated.",
		pattern, func(a *check.Allowances, p []string) { a.IgnoreNamespaces = append(a.IgnoreNamespaces, p...) }).PlaceHolder("PATTERN")
	allow(c, cmd, "ignore.name", "Ignore a node or a Service, such as shop/web. Can be a pattern such as shop/test-*, and can be repeated.",
		pattern, func(a *check.Allowances, p []string) { a.IgnoreNames = append(a.IgnoreNames, p...) }).PlaceHolder("PATTERN")
}

// allow adds a flag that changes the allowances of the file.
func allow[T any](c *checker, cmd *kingpin.CmdClause, name, help string, parse func(string) (T, error), change func(*check.Allowances, T)) *kingpin.FlagClause {
	return addFlag(cmd, name, help, new(T), func(s string) (T, error) {
		v, err := parse(s)
		c.allowances = append(c.allowances, func(a *check.Allowances) { change(a, v) })
		return v, err
	})
}

func (c *checker) run(p program) error {
	status, err := c.judge(p)
	switch {
	case err != nil:
		return exitStatus{cmp.Or(c.status, cannotCheck), err}
	case status != 0:
		return exitStatus{status: status}
	}
	return nil
}

// judge returns the exit status, after it has printed the result.
func (c *checker) judge(p program) (status int, err error) {
	allowed, err := check.Load(c.allow)
	if err != nil {
		return 0, err //nolint:wrapcheck // the error contains the path
	}
	for _, change := range c.allowances {
		change(&allowed)
	}
	ask := c.watch
	switch {
	case c.recording != "":
		ask = c.replay
	case c.url != nil:
		ask = c.ask
	}
	answer, err := ask(p)
	if err != nil {
		return 0, err
	}
	if c.cluster.namespace != "" {
		excuseNodes(&answer.Coverage)
	}
	result := check.Judge(answer, c.between.from, c.between.to, &allowed)
	if c.status == 0 && !result.Passed() {
		c.status = flapped
	}
	return c.status, c.report(p, result)
}

// excuseNodes removes nodes and Leases from what is not watched, if kubeflap may not watch them. With --namespace, it needs
// no permission for them. A gap has the reason of the first failure, and NotWatched has that of the last one, so one of both
// is enough while the gap is ongoing.
func excuseNodes(c *api.Coverage) {
	isForbidden := func(reason string) bool { return reason == string(event.ReasonForbidden) }
	for _, k := range []event.Kind{event.KindNode, event.KindLease} {
		resource := k.String()
		isExcused := slices.ContainsFunc(c.NotWatched, func(x api.NotWatched) bool { return x.Resource == resource && isForbidden(x.Reason) }) ||
			slices.ContainsFunc(c.Gaps, func(g api.Gap) bool {
				return g.To.IsZero() && isForbidden(g.Reason) && slices.Contains(g.Resources, resource)
			})
		c.NotWatched = slices.DeleteFunc(c.NotWatched, func(x api.NotWatched) bool { return isExcused && x.Resource == resource })
		for i := range c.Gaps {
			if g := &c.Gaps[i]; isForbidden(g.Reason) || isExcused && g.To.IsZero() {
				g.Resources = slices.DeleteFunc(slices.Clone(g.Resources), func(x string) bool { return x == resource })
			}
		}
	}
}

// wait waits for the duration of --for or until the command ends.
func (c *checker) wait(ctx context.Context, p program) error {
	if len(c.command) == 0 {
		p.logger.Info("checking", "for", c.duration)
		limit, stop := context.WithCancel(ctx)
		defer context.AfterFunc(p.ctx, stop)()
		wait(limit, c.duration)
		return nil
	}
	return c.runCommand(p)
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

// watch watches a live cluster while the command runs, and returns what happened.
func (c *checker) watch(p program) (answer *api.Answer, err error) {
	err = observe(p, c.cluster, *c.settings, listWithin, listWithin.String(), func(ctx context.Context, pipeline *pipeline) error {
		c.between.from = time.Now()
		if err := c.wait(ctx, p); err != nil {
			return err
		}
		if c.between.to = time.Now(); c.duration > 0 {
			c.between.to = c.between.from.Add(c.duration) // the time after an interrupt is not watched
		}
		wait(ctx, settleFor)
		found := web.Answer([]web.Cluster{pipeline.cluster()}, &api.Query{})
		answer = &found
		return nil
	})
	return answer, err
}

// replay reads a recording.
func (c *checker) replay(p program) (*api.Answer, error) {
	r, err := replayAtOnce(p, *c.settings, c.between, c.recording)
	if err != nil {
		return nil, err
	}
	answer := web.Answer(r.clusters(), &api.Query{})
	if answer.Coverage.Since.IsZero() {
		return nil, fmt.Errorf("recording %s has no events", c.recording)
	}
	c.between = period{from: cmp.Or(c.between.from, answer.Coverage.Since.Time), to: cmp.Or(c.between.to, answer.AsOf)}
	return &answer, nil
}

// ask asks a running kubeflap instance, whose clock counts.
func (c *checker) ask(p program) (*api.Answer, error) {
	if c.between.from.IsZero() {
		before, err := c.readIncidents(p)
		if err != nil {
			return nil, err
		}
		if err := c.wait(p.ctx, p); err != nil {
			return nil, err
		}
		wait(p.ctx, settleFor)
		p.ctx = context.WithoutCancel(p.ctx) // an interrupted command still has to be judged
		if c.between.from = before.AsOf; c.duration > 0 {
			c.between.to = before.AsOf.Add(c.duration)
		}
	}
	answer, err := c.readIncidents(p)
	if err != nil {
		return nil, err
	}
	if c.between.to.IsZero() {
		c.between.to = answer.AsOf
	}
	if c.between.to.Before(c.between.from) {
		return nil, fmt.Errorf("--from is in the future: for %s, it is %s", c.sourceName, phrase.Moment(answer.AsOf))
	}
	return answer, nil
}

// report prints the result, and writes it to the files that the flags name.
func (c *checker) report(p program, result *check.Result) (err error) {
	text := result.Text()
	if c.annotate {
		text = result.GitHub() + text
	}
	if c.annotate && len(c.command) > 0 && !result.Passed() {
		text = "\n" + text // an annotation must begin a line, and the output of the command may not end one
	}
	if c.junit != "" {
		err = os.WriteFile(c.junit, []byte(result.JUnit()), 0o644) //nolint:gosec // like all reports of a test run
	}
	_, failure := fmt.Fprint(p.out, text)
	return errors.Join(err, failure)
}
