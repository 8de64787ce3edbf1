package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// usageTemplate is kingpin's. Without a command, it also shows the flags of the default command.
func usageTemplate() string {
	return strings.TrimRight(kingpin.DefaultUsageTemplate, "\n") + `
{{if not .Context.SelectedCommand}}{{range .App.Commands}}{{if .Default -}}
Flags of {{.FullCommand}}, which is the default command (*):
{{.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end}}{{end}}{{end -}}
`
}

// wrongUsage says what is wrong with the arguments, and which help to read.
func wrongUsage(app *kingpin.Application, args []string, err error) string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && app.GetCommand(args[0]) == nil {
		return fmt.Sprintf("there is no command %s; see %s --help", args[0], app.Name)
	}
	// What the arguments mean up to the fault. The error is the same.
	context, _ := app.ParseContext(args)
	if context == nil || context.SelectedCommand == nil {
		return fmt.Sprintf("%v; see %s --help", err, app.Name)
	}
	return fmt.Sprintf("%v; see %s %s --help", err, app.Name, context.SelectedCommand.FullCommand())
}
