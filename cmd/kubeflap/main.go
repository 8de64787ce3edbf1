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
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/watch/serviceproxy"
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
	// log is the queue behind the logger.
	log *logQueue
	out io.Writer
}

// command is a subcommand with parsed flags.
type command func(program) error

// exitStatus is an error that ends the program with this status, without a message.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// run parses the arguments, runs their command and returns the exit status.
func run(as role, args []string, out, errOut io.Writer) int {
	app := kingpin.New(as.name, "Counts every readiness change in a Kubernetes cluster, however brief, and names its cause.")
	app.UsageWriter(out).ErrorWriter(errOut).UsageTemplate(usageTemplate())
	app.Version(version.Print("kubeflap")).HelpFlag.Short('h')
	// kingpin would exit after --help and --version, but only main may exit.
	done := false
	app.Terminate(func(int) { done = true })
	commands := map[string]command{}
	for _, register := range []func(*kingpin.Application) (string, command){
		registerRun, registerIncidents, registerWatch, registerReplay, registerRecord, registerDemo, registerAdvise, registerWhatIf,
		registerReport,
	} {
		name, c := register(app)
		commands[name] = c
	}
	app.GetCommand(as.defaultCommand).Default()
	logging := &promslog.Config{Writer: errOut}
	promslogflag.AddFlags(app, logging)

	args = likeKubectl(app, args)
	if topic := unknownTopic(app, args); topic != "" {
		fmt.Fprintf(errOut, "%s: there is no command %s; see %[1]s --help\n", as.name, printable.Line(topic))
		return 2
	}
	name, err := app.Parse(args)
	switch {
	case done:
		return 0
	case err != nil:
		fmt.Fprintf(errOut, "%s: %s\n", as.name, printable.Text(wrongUsage(app, args, err)))
		return 2
	}
	// stop restores the default signal handling, so that a second signal kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := throughQueue(logging)
	defer log.close()
	p := program{ctx: ctx, logger: promslog.New(logging), log: log, out: out}
	limitMemory(p.logger)
	err = commands[name](p)
	var status exitStatus
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		// Escape the error, because it may quote a recording or a server's response.
		fmt.Fprintf(log, "%s: %s\n", as.name, printable.Text(err.Error()+hint(as, err)))
		return 1
	}
	return 0
}

// hint returns a suggestion for an error, or an empty string.
func hint(as role, err error) string {
	switch {
	case errors.Is(err, apiclient.ErrNoCluster):
		return fmt.Sprintf(". To try kubeflap without a cluster: %s demo", as.name)
	case errors.Is(err, serviceproxy.ErrNoService):
		return fmt.Sprintf(". If no kubeflap runs in the cluster: %s watch needs none", as.name)
	}
	return ""
}
