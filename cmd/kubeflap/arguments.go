package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// likeKubectl rewrites arguments that kubectl accepts but kingpin does not. It changes "--context prod watch" to "watch
// --context prod". It changes "-o=json" and "-ojson" to "-o json".
func likeKubectl(app *kingpin.Application, args []string) []string {
	valued := valuedFlags(app)
	var all []string
	for _, arg := range args {
		if len(arg) > 2 && arg[1] != '-' && slices.Contains(valued, arg[:2]) {
			all = append(all, arg[:2], strings.TrimPrefix(arg[2:], "="))
			continue
		}
		all = append(all, arg)
	}
	for i := 0; i < len(all); i++ {
		switch {
		case slices.Contains(valued, all[i]):
			i++ // skip the value
		case strings.HasPrefix(all[i], "-"):
		case app.GetCommand(all[i]) != nil:
			command := all[i]
			return append([]string{command}, slices.Delete(all, i, i+1)...)
		default:
			return all
		}
	}
	return all
}

// valuedFlags returns the flags whose value may be the next argument. The result includes the flags of all commands.
func valuedFlags(app *kingpin.Application) []string {
	model := app.Model()
	flags := slices.Clone(model.Flags)
	for _, command := range model.Commands {
		flags = append(flags, command.Flags...)
	}
	var names []string
	for _, flag := range flags {
		if flag.IsBoolFlag() {
			continue
		}
		names = append(names, "--"+flag.Name)
		if flag.Short != 0 {
			names = append(names, "-"+string(flag.Short))
		}
	}
	return names
}
