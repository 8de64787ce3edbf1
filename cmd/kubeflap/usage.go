package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kingpin/v2"
)

// likeKubectl rewrites arguments that kubectl accepts but kingpin does not. It changes "--context prod watch" to "watch
// --context prod". It changes "-o=json" and "-ojson" to "-o json". It changes "help watch" to "watch --help", because
// kingpin's help does not fail for an unknown command.
func likeKubectl(app *kingpin.Application, args []string) []string {
	if len(args) > 1 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "--help")
	}
	var all []string
	for i, arg := range args {
		if arg == "--" { // what follows is another command
			all = append(all, args[i:]...)
			break
		}
		if len(arg) > 2 && arg[0] == '-' && unicode.IsLetter(rune(arg[1])) {
			all = append(all, arg[:2], strings.TrimPrefix(arg[2:], "="))
		} else {
			all = append(all, arg)
		}
	}
	for i := 0; i < len(all); i++ {
		switch arg := all[i]; {
		case arg == "--":
			return all
		case strings.HasPrefix(arg, "-") && !strings.Contains(arg, "="):
			i++ // skip the value
		case strings.HasPrefix(arg, "-"):
		case app.GetCommand(arg) != nil:
			return append([]string{arg}, slices.Delete(all, i, i+1)...)
		default:
			return all
		}
	}
	return all
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
