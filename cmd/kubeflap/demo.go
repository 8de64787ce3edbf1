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
	cmd := app.Command("demo", "Replay five incidents that were recorded on a real control plane. Needs no cluster.")
	var pace speed
	addFlag(cmd, "speed", "1 replays at the recorded speed, 10 ten times as fast.", "10", &pace)
	flags := addPipelineFlags(cmd)
	listen := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		recordings, err := openIncidents()
		if err != nil {
			return err
		}
		r := newDemo(recordings, float64(pace), flags.settings(), p.out)
		return r.serve(p, listen, newRegistry(p.log.droppedLines))
	}
}

// newDemo returns a replay that prints transitions and incidents.
func newDemo(recordings []openRecording, speed float64, settings settings, out io.Writer) *replay {
	out = &lockedWriter{out: out}
	r := newReplay(recordings, speed, settings, func(string) reporter { return terminal{out} })
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

// renewInterval is how often a kubelet renews its Lease. With a grace period below 20 s, every interval lasts longer than half of it.
const renewInterval = 10 * time.Second

// terminal prints transitions and incidents, one line each.
type terminal struct{ out io.Writer }

func (t terminal) transition(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen, transition.AddressFollowedPod, transition.ConsumerBounced, transition.ConsumerReaddedStale:
		return
	case transition.HeartbeatLate:
		if x.Silence <= renewInterval {
			return
		}
	}
	fmt.Fprintf(t.out, "%s  %s\n", clockTime(x.When()), printable.Line(x.String()))
}

// incident prints the start of an incident and each change of its cause or scope, and its remedy at its end or the recording's.
func (t terminal) incident(n incident.Notice) { fmt.Fprintln(t.out, printable.Line(incidentLine(n))) }

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

// lockedWriter serialises the lines of a replay and those of its pipelines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
