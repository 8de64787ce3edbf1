package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kingpin/v2"
)

// likeKubectl rewrites arguments that kubectl accepts but kingpin does not. It changes "--context prod watch" to "watch
// --context prod". It changes "-o=json" and "-ojson" to "-o json".
func likeKubectl(app *kingpin.Application, args []string) []string {
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
		var names []string
		for _, c := range app.Model().Commands {
			names = append(names, c.Name)
		}
		return fmt.Sprintf("there is no command %s%s; see %s --help", args[0], suggestion("", args[0], names), app.Name)
	}
	// Parse again to get the command that precedes the error. The second parse returns the same error.
	context, _ := app.ParseContext(args)
	if context == nil || context.SelectedCommand == nil {
		return fmt.Sprintf("%v; see %s --help", err, app.Name)
	}
	command := context.SelectedCommand
	if found := unknownFlag.FindStringSubmatch(err.Error()); found != nil {
		var names []string
		for _, f := range append(app.Model().Flags, command.Model().Flags...) {
			names = append(names, f.Name)
		}
		err = fmt.Errorf("there is no flag --%s%s", found[1], suggestion("--", found[1], names))
	}
	if strings.HasPrefix(err.Error(), "unexpected ") && command.GetFlag("recording") != nil {
		err = fmt.Errorf("%w: to read a recording, use --recording", err)
	}
	return fmt.Sprintf("%v; see %s %s --help", err, app.Name, command.FullCommand())
}

// unknownFlag matches kingpin's error.
var unknownFlag = regexp.MustCompile(`^unknown long flag '--(.*)'$`)

// suggestion returns a question about the name that is nearest to a mistyped one. It is empty if none is near.
func suggestion(prefix, typed string, names []string) string {
	nearest := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(alike(typed, a), alike(typed, b)) })
	if alike(typed, nearest) < len(typed) {
		return ""
	}
	return ": did you mean " + prefix + nearest + "?"
}

// alike returns twice the number of bytes at the start and at the end that two words have in common, less the difference of
// their lengths.
func alike(a, b string) int {
	shorter, start, end := min(len(a), len(b)), 0, 0
	for start < shorter && a[start] == b[start] {
		start++
	}
	for start+end < shorter && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return 2*(start+end) - max(len(a), len(b)) + shorter
}
