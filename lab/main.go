// Command lab runs a real Kubernetes control plane on this machine and injects faults. It compares kubeflap's counts
// with those of an independent recorder.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	app := kingpin.New("lab", "Tests kubeflap with a real Kubernetes control plane.")
	app.HelpFlag.Short('h')
	list := app.Command("list", "List the scenarios.")
	build := app.Command("build", "Build the control plane. The first build takes some minutes.")

	runs := app.Command("run", "Run a scenario, and compare kubeflap's counts with the recorder's.")
	name := runs.Arg("scenario", "Name of a scenario. See `lab list`.").Required().String()
	var options session.Options
	addSessionFlags(runs, &options)
	release := onRelease(runs)
	runs.Flag("seed", "Seed of the random scenario.").Default("1").Uint64Var(&options.Seed)
	keep := runs.Flag("keep", "Keep the cluster running until interrupted.").Bool()

	up := app.Command("up", "Start a cluster, and keep it running until interrupted.")
	nodes := up.Flag("nodes", "Number of hollow kubelets.").Default("3").Int()
	upRelease := onRelease(up)

	command, err := app.Parse(args)
	if err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	options.Log = log
	switch command {
	case list.FullCommand():
		listScenarios(out)
		return nil
	case build.FullCommand():
		return steps.Run(func() { buildAll(ctx, log, cluster.Releases()) })
	case up.FullCommand():
		return stand(ctx, cluster.Options{Release: cluster.Release(*upRelease), Nodes: *nodes, ControllerManagerPod: *nodes > 0, Log: log}, out)
	default:
		s, err := scenario.Find(*name, cluster.Release(*release))
		if err != nil {
			return err
		}
		return play(ctx, s, options, out, *keep)
	}
}

func addSessionFlags(runs *kingpin.CmdClause, options *session.Options) {
	runs.Flag("kubeflap", "Path of the kubeflap binary to test. Without it, only the recorder runs.").StringVar(&options.Kubeflap)
	runs.Flag("save", "File for a recording by kubeflap.").StringVar(&options.Save)
	runs.Flag("facts", "File for the facts that the recorder has counted. Requires --save.").StringVar(&options.Facts)
	runs.Flag("raw", "File for the bytes of the watches. Requires --save.").StringVar(&options.Raw)
	runs.Flag("rules", "Directory with the alert rules. If set, a Prometheus also runs, and its alerts are checked.").StringVar(&options.Rules)
}

func listScenarios(out io.Writer) {
	for _, s := range scenario.All(cluster.Newest) {
		fmt.Fprintf(out, "%-20s %s\n", s.Name, s.Summary)
	}
}

// onRelease adds the flag --release to a command.
func onRelease(command *kingpin.CmdClause) *string {
	var all []string
	for _, release := range cluster.Releases() {
		all = append(all, string(release))
	}
	return command.Flag("release", "Kubernetes version: "+strings.Join(all, " or ")+". Default: the newest one that has the scenario.").Enum(all...)
}

// buildAll builds the control planes of the given releases.
func buildAll(ctx context.Context, log *slog.Logger, releases []cluster.Release) {
	for _, release := range releases {
		cluster.Build(ctx, log, release)
	}
}

// stand starts a cluster, which runs until the context ends.
func stand(ctx context.Context, options cluster.Options, out io.Writer) error {
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Fprintln(out, c.Kubeconfig)
	<-ctx.Done()
	return nil
}

// play runs a scenario and prints the counts. If keep is set, the cluster keeps running after the scenario.
func play(ctx context.Context, s scenario.Scenario, options session.Options, out io.Writer, keep bool) error {
	begin := time.Now()
	running, failed := session.Run(ctx, s, options)
	if running.Truth != nil {
		failed = cmp.Or(failed, steps.Run(func() { printCounts(out, running.Truth.Counts()) }))
	}
	if failed == nil {
		agrees := "no kubeflap to compare with"
		if running.URL != "" {
			agrees = "kubeflap agrees with the recorder"
		}
		fmt.Fprintf(out, "%s took %s; %s\n", s.Name, time.Since(begin).Round(time.Second), agrees)
	}
	if keep && running.Cluster != nil {
		options.Log.Info("the cluster keeps running until interrupted", "kubeconfig", running.Cluster.Kubeconfig, "result", failed)
		if running.URL != "" {
			options.Log.Info("kubeflap keeps running", "incidents", running.URL+"/flaps")
		}
		if running.Prometheus != nil {
			options.Log.Info("Prometheus keeps running", "alerts", running.Prometheus.URL+"/api/v1/alerts")
		}
		<-ctx.Done()
	}
	return cmp.Or(failed, running.Stop())
}

// printCounts prints the counts that are not 0.
func printCounts(out io.Writer, counts truth.Counts) {
	var lines []string
	for series, value := range counts {
		if value != 0 && (strings.Contains(series, "_total") || strings.HasSuffix(series, "_count")) {
			lines = append(lines, fmt.Sprintf("%10s  %s", strings.TrimSuffix(fmt.Sprintf("%.3f", value), ".000"), series))
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[12:], b[12:]) })
	fmt.Fprintln(out, strings.Join(lines, "\n"))
}
