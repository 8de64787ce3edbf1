package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

const flagReferenceHead = `# Flags

These are the flags of ` + "`kubeflap run`, the command that the chart runs. `kubeflap help`" + ` lists the other commands, and
` + "`kubeflap COMMAND --help` prints the flags of one. This page is generated (`make docs`)" + `.

`

// TestFlagReferenceIsFresh compares docs/flags.md with the declared flags.
func TestFlagReferenceIsFresh(t *testing.T) {
	app := newCommandLine(calledAs("kubeflap"), io.Discard, io.Discard).app
	page := flagReferenceHead
	for _, flag := range append(app.GetCommand("run").Model().Flags, app.Model().Flags...) {
		if !flag.Hidden && flag.Name != "help" && flag.Name != "version" {
			page += flagEntry(flag)
		}
	}
	golden(t, "../../docs/flags.md", page)
}

// flagEntry returns the entry of a flag with its default value, as in --data.age=14d.
func flagEntry(flag *kingpin.FlagModel) string {
	syntax := "--" + flag.Name
	if !flag.IsBoolFlag() {
		syntax += "=" + strings.Trim(flag.FormatPlaceHolder(), `"`)
	}
	if flag.Short != 0 {
		syntax = "-" + string(flag.Short) + ", " + syntax
	}
	return fmt.Sprintf("- `%s`: %s\n", syntax, flag.Help)
}
