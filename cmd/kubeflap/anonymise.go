package main

import (
	"errors"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

func registerAnonymise(app *kingpin.Application) (string, command) {
	cmd := app.Command("anonymise", "Replace names, addresses and UIDs in a recording with pseudonyms, so that you can share it.")
	from := cmd.Arg("recording", "A recording, or a --data.dir directory.").Required().String()
	file := cmd.Arg("file", "The file to write, which must not exist yet. If its name ends in .gz, the file is compressed.").Required().String()
	var between period
	between.addFlags(cmd, onlyFromADirectory)
	return cmd.FullCommand(), func(p program) error {
		from, err := between.open(*from)
		if err != nil {
			return err
		}
		from.events = withProgress(p.logger, from.events)
		err = anonymise(from, *file)
		if errors.Is(err, recording.ErrCutShort) {
			p.logger.Warn("the end of the recording is missing", "err", err)
			return nil
		}
		return err
	}
}

// anonymise writes an anonymised copy of a recording. If the recording is cut short, the copy contains the events before
// this point. After any other error, there is no copy.
func anonymise(from clusterRecording, file string) error {
	from.header.Anonymised = true
	to, err := recording.Create(file, from.header)
	if err != nil {
		return err //nolint:wrapcheck // the error contains the path
	}
	err = errors.Join(to.WriteAll(from.events), to.Close())
	if err != nil && !errors.Is(err, recording.ErrCutShort) {
		return errors.Join(err, os.Remove(file))
	}
	return err
}
