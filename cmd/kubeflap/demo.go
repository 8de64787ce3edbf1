package main

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/flap"
	"github.com/kubeflap/kubeflap/exporter/tape"
	"github.com/kubeflap/kubeflap/exporter/tape/incidents"
)

func registerDemo(app *kingpin.Application) (string, command) {
	cmd := app.Command("demo", "Replay five real incidents, recorded on a real control plane; no cluster needed.")
	pace := speed(10)
	cmd.Flag("speed", "How many times as fast as it was recorded.").Default("10").SetValue(named{&pace, "speed"})
	fold := addFoldFlags(cmd)
	web := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		recordings, err := openIncidents()
		if err != nil {
			return err
		}
		r := newReplay(recordings, float64(pace), fold.parsed(), func(string) func(flap.Finding) { return printFindings(p.out) })
		r.before = func(rec recording) { fmt.Fprintf(p.out, "\n== %s: %s\n", rec.cluster, rec.Header().Title) }
		return r.serve(p, web, newRegistry())
	}
}

// openIncidents opens the recordings in the binary, in the order of their names.
func openIncidents() ([]recording, error) {
	files, err := incidents.Files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the recorded incidents: %w", err)
	}
	var all []recording
	for _, entry := range files {
		file, err := incidents.Files.Open(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("open the incident %s: %w", entry.Name(), err)
		}
		reader, err := tape.NewReader(file, entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, recording{reader, strings.TrimSuffix(path.Base(entry.Name()), ".jsonl.gz")})
	}
	return all, nil
}

// renewal is how often a kubelet renews its Lease: half of a grace period that is
// below twice that is over in every interval, which is nothing to tell.
const renewal = 10 * time.Second

// printFindings prints what there is to see, one line each.
func printFindings(out io.Writer) func(flap.Finding) {
	return func(x flap.Finding) {
		switch {
		case x.Kind == flap.HeartbeatSeen, x.Kind == flap.AddressFollowedPod, x.Kind == flap.HeartbeatLate && x.Duration <= renewal:
			return
		}
		fmt.Fprintf(out, "%s  %s\n", clockTime(x.Time), x)
	}
}
