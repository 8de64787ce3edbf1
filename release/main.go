// Command release makes what a release ships beside its binaries, and checks a release before it is published.
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

// run parses the arguments and runs the command that they name, in the repository's root.
func run(ctx context.Context, args []string, out io.Writer) error {
	app := kingpin.New("release", "Makes what a release ships beside its binaries, and checks a release.")
	// Not --version, which kingpin takes for a question that ends the program.
	version := app.Flag("release", "Version of the release, with or without its v.").String()

	b := build{}
	app.Flag("platforms", "Platforms of the kubectl plugin, as make has them in PLATFORMS.").StringVar(&b.platforms)
	plugin := app.Command("plugin", "Pack the kubectl plugin, and write its manifest for krew.")

	provenance := app.Command("provenance", "Write the SLSA provenance of the binaries and the image.")
	provenance.Flag("arches", "Architectures, as make has them in ARCHES.").Required().StringVar(&b.arches)
	provenance.Flag("builder", "URI of who builds.").Required().StringVar(&b.builder)
	dir := app.Flag("dir", "Where make puts what it builds.").Default("bin").String()

	tag := app.Command("check-tag", "Is the commit fit to be released: its tag, the work tree, CHANGELOG.md, the chart?")
	artefacts := app.Command("check-artefacts", "Do the artefacts agree with the version and with each other?")

	command, err := app.Parse(args)
	if err != nil {
		return fmt.Errorf("%w; see release --help", err)
	}
	number := strings.TrimPrefix(*version, "v")
	switch command {
	case tag.FullCommand():
		return report(out, checkTag(ctx, *version))
	case artefacts.FullCommand():
		return report(out, checkArtefacts(ctx, *dir, build{version: number, platforms: b.platforms}))
	}
	if b.version = number; number == "" {
		return errors.New("--release is needed")
	}
	if command == plugin.FullCommand() {
		return writePlugin(*dir, b)
	}
	if b.revision, err = head(ctx); err != nil {
		return err
	}
	return writeProvenance(ctx, *dir, b)
}

// build is what was built, and from which revision.
type build struct {
	version, arches, platforms, builder, revision string
}

// head is the revision of the commit.
func head(ctx context.Context) (string, error) { return git(ctx, "rev-parse", "HEAD") }

func git(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", args...))
}

// output runs a command and returns what it prints; its complaint is part of the error.
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

// report prints each problem; none is fit for release.
func report(out io.Writer, problems []string) error {
	for _, p := range problems {
		fmt.Fprintln(out, "release:", p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problem(s), not fit for release", len(problems))
	}
	return nil
}
