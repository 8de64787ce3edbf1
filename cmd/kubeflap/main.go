// Command kubeflap watches a Kubernetes cluster and tells which nodes, pods and
// Service addresses lose readiness, how often and how long.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/printable"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// program is what every command needs.
type program struct {
	ctx    context.Context
	logger *slog.Logger
	// lines is what the logger writes to.
	lines *lines
	out   io.Writer
}

// command is a subcommand with its flags parsed.
type command func(program) error

// exitStatus ends the program with a status of its own and nothing to complain about.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// run parses the arguments, runs the command that they name, and returns the exit status.
func run(args []string, out, errOut io.Writer) int {
	app := kingpin.New("kubeflap", "Counts every change of readiness in a Kubernetes cluster, however brief, and says why.")
	app.UsageWriter(out).ErrorWriter(errOut)
	app.Version(version.Print("kubeflap")).HelpFlag.Short('h')
	// Help and version end the process; here they end run.
	done := false
	app.Terminate(func(int) { done = true })
	commands := map[string]command{}
	for _, register := range []func(*kingpin.Application) (string, command){
		registerRun, registerReplay, registerRecord, registerDemo, registerAdvise,
	} {
		name, c := register(app)
		commands[name] = c
	}
	logging := &promslog.Config{Writer: errOut}
	promslogflag.AddFlags(app, logging)

	name, err := app.Parse(args)
	switch {
	case done:
		return 0
	case err != nil:
		fmt.Fprintf(errOut, "kubeflap: %s; see kubeflap --help\n", printable.Text(err.Error()))
		return 2
	}
	// The second signal ends the process at once: stop gives it back to the runtime.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := logThrough(logging)
	defer log.close()
	p := program{ctx: ctx, logger: promslog.New(logging), lines: log, out: out}
	limitMemory(p.logger)
	err = commands[name](p)
	var status exitStatus
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		// It may quote a stranger's recording, or what another server answered.
		fmt.Fprintf(log, "kubeflap: %s\n", printable.Text(err.Error()))
		return 1
	}
	return 0
}

// logThrough makes a log write through lines, and gives these.
func logThrough(logging *promslog.Config) *lines {
	direct := *logging
	logger := promslog.New(&direct)
	log := newLines(logging.Writer, func(dropped int) {
		logger.Warn("lines of the log were dropped here: whoever reads it did not keep up", "lines", dropped)
	})
	logging.Writer = log
	return log
}
