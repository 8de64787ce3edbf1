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
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"go.yaml.in/yaml/v2"

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
	allowances   check.Allowances
	duration     time.Duration
	command      []string
	annotate     bool
	status       int // of the command
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
	a := &c.allowances
	addFlag(cmd, "allow.service", "Accept that a Service has no ready address for this time. With more than 0s, its addresses may flap.", &a.Service, parseDuration).Default("0s")
	addFlag(cmd, "allow.node", "Accept that a node is not Ready for this time. With more than 0s, its heartbeats may be late.", &a.Node, parseDuration).Default("0s")
	addFlag(cmd, "allow.planned", "Whether to accept planned departures and roll-outs while another address is ready.", &a.Planned, strconv.ParseBool).Default("true")
	addFlag(cmd, "allow.blind", "Accept that a resource is not watched for this time. kubeflap may miss flaps in that time. The default is 2m, but at most half of the period.",
		&a.Blind, func(s string) (*time.Duration, error) {
			d, err := parseDuration(s)
			return &d, err
		}).PlaceHolder("DURATION")
	ignore := func(name, help string, into *[]string) {
		addFlag(cmd, name, help+" and can be repeated.", into, func(s string) ([]string, error) { return append(*into, s), check.ParsePattern(s) }).PlaceHolder("PATTERN")
	}
	ignore("ignore.namespace", "Ignore a namespace. Can be a pattern such as test-*,", &a.IgnoreNamespaces)
	ignore("ignore.name", "Ignore a node or a Service, such as shop/web. Can be a pattern such as shop/test-*,", &a.IgnoreNames)
	cmd.Flag("allow", "YAML file with the values of these flags, by their names. Flags of the command line take precedence.").PlaceHolder("FILE").StringVar(&c.allow)
	cmd.Action(func(given *kingpin.ParseContext) error { return c.readAllowances(cmd, given) })
}

// readAllowances sets the flags in the file of --allow, except those that the command line sets. Patterns of both count.
func (c *checker) readAllowances(cmd *kingpin.CmdClause, given *kingpin.ParseContext) error {
	if c.allow == "" {
		return nil
	}
	values := map[string]any{}
	text, err := os.ReadFile(c.allow)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &values)
	}
	for name, value := range values {
		flag, ignores := cmd.GetFlag(name), strings.HasPrefix(name, "ignore.")
		all, isList := value.([]any)
		switch {
		case flag == nil || !ignores && !strings.HasPrefix(name, "allow."):
			err = cmp.Or(err, fmt.Errorf("%q is not the name of an allowance", name))
		case !ignores && slices.ContainsFunc(given.Elements, func(x *kingpin.ParseElement) bool { return x.Clause == flag }):
		case !isList:
			err = cmp.Or(err, flag.Model().Value.Set(fmt.Sprint(value)))
		}
		for _, x := range all {
			err = cmp.Or(err, flag.Model().Value.Set(fmt.Sprint(x)))
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
	switch {
	case err != nil:
		return exitStatus{cmp.Or(c.status, cannotCheck), err}
	case c.status != 0:
		return exitStatus{status: c.status}
	}
	return nil
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

// during runs the command, or waits for the duration of --for or an interrupt, and returns what happened meanwhile. The clock
// of the source counts.
func (c *checker) during(p program, read func() (*api.Answer, error)) (*api.Answer, error) {
	before, err := read()
	switch {
	case err != nil:
	case len(c.command) > 0:
		err = c.runCommand(p)
	default:
		p.logger.Info("checking", "for", c.duration)
		wait(p.ctx, c.duration)
		c.between.to = before.AsOf.Add(c.duration) // the time after an interrupt is not watched
	}
	if err != nil {
		return nil, err
	}
	time.Sleep(settleFor)
	c.between.from = before.AsOf
	return read()
}

// watch watches a live cluster.
func (c *checker) watch(p program) (answer *api.Answer, err error) {
	err = observe(p, c.cluster, *c.settings, listWithin, listWithin.String(), func(_ context.Context, pipeline *pipeline) (err error) {
		answer, err = c.during(p, func() (*api.Answer, error) {
			found := web.Answer([]web.Cluster{pipeline.cluster()}, &api.Query{})
			return &found, nil
		})
		return err
	})
	if c.cluster.namespace != "" { // nodes and Leases need no permission then
		c.allowances.Optional = []string{event.KindNode.String(), event.KindLease.String()}
	}
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
	c.between.from = cmp.Or(c.between.from, answer.Coverage.Since.Time)
	return &answer, nil
}

// ask asks a running kubeflap instance. An interrupted command still has to be judged.
func (c *checker) ask(p program) (*api.Answer, error) {
	reader := p
	reader.ctx = context.WithoutCancel(p.ctx)
	read := func() (*api.Answer, error) { return c.readIncidents(reader) }
	if c.between.from.IsZero() {
		return c.during(p, read)
	}
	return read()
}

// report judges the period, prints the result, and writes it to the files that the flags name.
func (c *checker) report(p program, answer *api.Answer) (err error) {
	to := cmp.Or(c.between.to, answer.AsOf)
	if to.Before(c.between.from) {
		return fmt.Errorf("--from is in the future: for %s, it is %s", cmp.Or(c.sourceName, c.recording), phrase.Moment(answer.AsOf))
	}
	result := check.Judge(answer, c.between.from, to, &c.allowances)
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
