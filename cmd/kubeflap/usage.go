package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// usageTemplate extends kingpin's template. If no command is given, it shows the flags of the default command.
func usageTemplate() string {
	return strings.TrimRight(kingpin.DefaultUsageTemplate, "\n") + `
{{if not .Context.SelectedCommand}}{{range .App.Commands}}{{if .Default -}}
Flags of {{.FullCommand}}, which is the default command (*):
{{.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end}}{{end}}{{end -}}
`
}

// wrongUsage adds the matching help command to an error about the arguments.
func wrongUsage(app *kingpin.Application, args []string, err error) string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && app.GetCommand(args[0]) == nil {
		return fmt.Sprintf("there is no command %s; see %s --help", args[0], app.Name)
	}
	// Parse again to get the command that precedes the error. The second parse returns the same error.
	context, _ := app.ParseContext(args)
	if context == nil || context.SelectedCommand == nil {
		return fmt.Sprintf("%v; see %s --help", err, app.Name)
	}
	command := context.SelectedCommand
	if strings.HasPrefix(err.Error(), "unexpected ") && command.GetFlag("recording") != nil {
		err = fmt.Errorf("%w: to read a recording, use --recording", err)
	}
	return fmt.Sprintf("%v; see %s %s --help", err, app.Name, command.FullCommand())
}
