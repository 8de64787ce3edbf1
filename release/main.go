// Command release packs the kubectl plugin, writes the provenance of a release, and checks a release before it is
// published.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

const repository = "https://github.com/kubeflap/kubeflap"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// run parses the arguments, and runs the command in the repository's root.
func run(ctx context.Context, args []string, out io.Writer) error {
	app := kingpin.New("release", "Packs the kubectl plugin, writes the provenance, and checks a release.")
	// Do not call this flag version, because kingpin then sets no default values (see Application.setDefaults).
	version := app.Flag("release", "Version of the release, with or without the leading v.").String()

	b := build{}
	app.Flag("platforms", "Platforms of the kubectl plugin, in the format of make's PLATFORMS.").StringVar(&b.platforms)
	plugin := app.Command("plugin", "Pack the kubectl plugin, and write its manifest for krew.")

	provenance := app.Command("provenance", "Write the SLSA provenance of the binaries and the image.")
	provenance.Flag("arches", "Architectures, in the format of make's ARCHES.").Required().StringVar(&b.arches)
	provenance.Flag("builder", "URI of the builder.").Required().StringVar(&b.builder)
	dir := app.Flag("dir", "Directory with make's output.").Default("bin").String()

	tag := app.Command("check-tag", "Check the commit before a release: its tag, the work tree, CHANGELOG.md and the chart.")
	artefacts := app.Command("check-artefacts", "Check that the artifacts have the version, and match each other.")

	command, err := app.Parse(args)
	if err != nil {
		return fmt.Errorf("%w; run release --help", err)
	}
	number := strings.TrimPrefix(*version, "v")
	switch command {
	case tag.FullCommand():
		return report(out, checkTag(ctx, *version))
	case artefacts.FullCommand():
		return report(out, checkArtefacts(ctx, *dir, build{version: number, platforms: b.platforms}))
	}
	if b.version = number; number == "" {
		return errors.New("--release is required")
	}
	if command == plugin.FullCommand() {
		return writePlugin(*dir, b)
	}
	if b.revision, err = head(ctx); err != nil {
		return err
	}
	return writeProvenance(ctx, *dir, b)
}

// build describes the build to release.
type build struct {
	version, arches, platforms, builder, revision string
}

func head(ctx context.Context) (string, error) { return git(ctx, "rev-parse", "HEAD") }

func git(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", args...))
}

// output runs a command and returns its standard output. Errors contain its standard error.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// report prints the problems, and returns an error if there are any.
func report(out io.Writer, problems []string) error {
	for _, p := range problems {
		fmt.Fprintln(out, "release:", p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problem(s) prevent the release", len(problems))
	}
	return nil
}
