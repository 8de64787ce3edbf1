package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// likeKubectl rewrites what kubectl understands and kingpin does not: flags before the command, as in --context prod watch, and short flags
// with an equals sign, as in -o=json.
func likeKubectl(app *kingpin.Application, args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if len(arg) > 3 && arg[0] == '-' && arg[1] != '-' && arg[2] == '=' {
			args[i] = arg[:2] + arg[3:]
		}
	}
	for i := 0; i < len(args); i++ {
		switch {
		case slices.Contains(valued(), args[i]):
			i++ // its value
		case strings.HasPrefix(args[i], "-"):
		case app.GetCommand(args[i]) != nil:
			command := args[i]
			return append([]string{command}, slices.Delete(args, i, i+1)...)
		default:
			return args
		}
	}
	return args
}

// valued are the flags that kubectl users put before the command, if their value is an argument of its own.
func valued() []string {
	return []string{"--kubeconfig", "--context", "--cluster", "--user", "--namespace", "-n", "--log.level", "--log.format"}
}
