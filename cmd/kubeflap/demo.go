package main

import (
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/recording/incidents"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func registerDemo(app *kingpin.Application) (string, command) {
	cmd := app.Command("demo", "Replay five real incidents, recorded on a real control plane; no cluster needed.")
	pace := speed(10)
	cmd.Flag("speed", "How many times as fast as it was recorded.").Default("10").SetValue(named{&pace, "speed"})
	pipeline := addPipelineFlags(cmd)
	listen := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		recordings, err := openIncidents()
		if err != nil {
			return err
		}
		r := newDemo(recordings, float64(pace), pipeline.parsed(), p.out)
		return r.serve(p, listen, newRegistry(p.lines.droppedSoFar))
	}
}

// newDemo makes a replay that prints what there is to see.
func newDemo(recordings []openRecording, speed float64, settings settings, out io.Writer) *replay {
	out = &lockedWriter{out: out}
	r := newReplay(recordings, speed, settings, func(string) listener { return listener{printTransitions(out), printIncident(out)} })
	r.before = func(rec openRecording) {
		fmt.Fprintf(out, "\n== %s: %s\n", rec.cluster, printable.Line(rec.Header().Title))
	}
	return r
}

// openIncidents opens the recordings in the binary, in the order of their names.
func openIncidents() ([]openRecording, error) {
	files, err := incidents.Files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the recorded incidents: %w", err)
	}
	var all []openRecording
	for _, entry := range files {
		file, err := incidents.Files.Open(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("open the incident %s: %w", entry.Name(), err)
		}
		reader, err := recording.NewReader(file, entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, openRecording{reader, strings.TrimSuffix(path.Base(entry.Name()), ".jsonl.gz")})
	}
	return all, nil
}

// renewal is how often a kubelet renews its Lease: half of a grace period that is
// below twice that is over in every interval, which is nothing to tell.
const renewal = 10 * time.Second

// printTransitions prints what there is to see, one line each.
func printTransitions(out io.Writer) func(transition.Transition) {
	return func(x transition.Transition) {
		switch x := x.(type) {
		case transition.HeartbeatSeen, transition.AddressFollowedPod, transition.ConsumerBounced:
			return
		case transition.HeartbeatLate:
			if x.Silence <= renewal {
				return
			}
		}
		fmt.Fprintf(out, "%s  %s\n", clockTime(x.When()), printable.Line(x.String()))
	}
}

// printIncident prints one line when an incident begins or turns out to be
// another one, and one more with the remedy at its end, or the recording's.
func printIncident(out io.Writer) func(incident.Notice) {
	return func(n incident.Notice) { fmt.Fprintln(out, printable.Line(incidentLine(n))) }
}

func incidentLine(n incident.Notice) string {
	x := &n.Incident
	switch n.Kind {
	case incident.Merged:
		return fmt.Sprintf("<<< PART OF ANOTHER: %s %s", x.Scope, x.Subject)
	case incident.Dropped, incident.Ongoing:
		return fmt.Sprintf("<<< STILL %s: %s Remedy: %s", strings.ToUpper(string(x.State)), x.Summary, x.Remedy)
	case incident.Ended:
		return fmt.Sprintf("<<< OVER after %s: %s Remedy: %s", x.End.Sub(x.Start).Round(100*time.Millisecond), x.Summary, x.Remedy)
	}
	return fmt.Sprintf(">>> INCIDENT %s %s: %s", x.Scope, x.Cause, x.Summary)
}

// lockedWriter is written to by what happens and by what the passing of time brings.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
