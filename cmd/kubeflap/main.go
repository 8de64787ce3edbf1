// Command kubeflap watches a Kubernetes cluster. It counts how often nodes, pods and Service addresses lose
// readiness, and for how long.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

func main() {
	setVersion()
	os.Exit(run(calledAs(os.Args[0]), os.Args[1:], os.Stdout, os.Stderr))
}

// role is the program's name and its default command. Both depend on the name of the executable.
type role struct{ name, defaultCommand string }

// calledAs returns the role for the path of the executable. "kubectl flap" runs the executable kubectl-flap.
func calledAs(path string) role {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-flap" {
		return role{"kubectl flap", "incidents"}
	}
	return role{"kubeflap", "run"}
}

// program holds the dependencies of all commands.
type program struct {
	ctx    context.Context
	logger *slog.Logger
	// log is the queue that the logger writes to.
	log *logQueue
	out io.Writer
}

// command is a subcommand with parsed flags.
type command func(program) error

// exitStatus is an error that ends the program with this status. Without an error of its own, it ends without a message.
type exitStatus struct {
	status int
	error
}

// Unwrap returns the error.
func (s exitStatus) Unwrap() error { return s.error }

// commandLine parses arguments.
type commandLine struct {
	app      *kingpin.Application
	commands map[string]command
	logging  *promslog.Config
	// done is set if --help or --version has printed its text.
	done bool
}

func newCommandLine(as role, out, errOut io.Writer) *commandLine {
	app := kingpin.New(as.name, "Counts every readiness change in a Kubernetes cluster, however brief, and names its cause.")
	app.UsageWriter(out).ErrorWriter(errOut)
	app.Version(version.Print("kubeflap")).HelpFlag.Short('h')
	c := &commandLine{app: app, commands: map[string]command{}, logging: &promslog.Config{Writer: errOut}}
	// kingpin would exit after --help and --version, but only main may exit.
	app.Terminate(func(int) { c.done = true })
	for _, register := range []func(*kingpin.Application) (string, command){
		registerRun, registerIncidents, registerCheck, registerWatch, registerReplay, registerRecord, registerAnonymise, registerDemo, registerAdvise,
	} {
		name, run := register(app)
		c.commands[name] = run
	}
	app.GetCommand(as.defaultCommand).Default()
	promslogflag.AddFlags(app, c.logging)
	return c
}

// parse returns the command that the arguments select, but does not run it. The command is nil if done is set.
func (c *commandLine) parse(args []string) (command, error) {
	args = likeKubectl(c.app, args)
	name, err := c.app.Parse(args)
	switch {
	case c.done:
		return nil, nil
	case err != nil:
		return nil, errors.New(wrongUsage(c.app, args, err))
	}
	return c.commands[name], nil
}

// run parses the arguments, runs the command and returns the exit status.
func run(as role, args []string, out, errOut io.Writer) int {
	line := newCommandLine(as, out, errOut)
	command, err := line.parse(args)
	switch {
	case line.done:
		return 0
	case err != nil:
		fmt.Fprintf(errOut, "%s: %s\n", as.name, phrase.Text(err.Error()))
		return 2
	}
	// stop restores the default signal handling, so that a second signal kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := throughQueue(line.logging)
	defer log.close()
	p := program{ctx: ctx, logger: promslog.New(line.logging), log: log, out: out}
	limitMemory(p.logger)
	err = command(p)
	if err == nil {
		return 0
	}
	ends := exitStatus{1, err}
	_ = errors.As(err, &ends)
	if ends.error != nil {
		// Escape the error, because it may quote a recording or a server's response.
		fmt.Fprintf(log, "%s: %s\n", as.name, phrase.Text(ends.Error()+hint(as, err)))
	}
	return ends.status
}

// hint returns a suggestion for an error, or an empty string.
func hint(as role, err error) string {
	switch {
	case errors.Is(err, apiclient.ErrNoCluster):
		return fmt.Sprintf(". To try kubeflap without a cluster: %s demo", as.name)
	case errors.Is(err, apiclient.ErrNoService):
		return fmt.Sprintf(". If kubeflap does not run in the cluster, use: %s watch", as.name)
	}
	return ""
}

const (
	// gcPercent is the amount of garbage that triggers a collection, in percent of the live heap. A small value saves
	// memory. The additional CPU cost is small, because the live heap changes little.
	gcPercent = 25
	// memoryShare is the soft memory limit of the Go runtime, as a fraction of the container's memory limit.
	memoryShare = 0.9
)

// limitMemory configures the garbage collector and the memory limit. GOGC, GOMEMLIMIT and AUTOMEMLIMIT take precedence.
func limitMemory(logger *slog.Logger) {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil {
		logger.Debug("no memory limit was set", "err", err) // a missing cgroup is normal outside of a container
	}
}

// setVersion sets the version if make has not set it. After go build or go install, it uses the version recorded by the
// Go toolchain.
func setVersion() {
	if info, ok := debug.ReadBuildInfo(); ok && version.Version == "" {
		version.Version = versionOf(info)
	}
}

// versionOf returns the main module's version: a release, or a pseudo-version with the commit's time and ID.
func versionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel" // the binary was built outside of a repository
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
