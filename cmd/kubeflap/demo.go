package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

func registerDemo(app *kingpin.Application) (string, command) {
	cmd := app.Command("demo", "Replay five recordings of incidents that happened on a real control plane. Needs no cluster.")
	var pace float64
	addFlag(cmd, "speed", "Replay speed. 1 is the recorded speed, 10 is ten times as fast.", &pace, parseSpeed).Default("10")
	listen := kingpinflag.AddFlags(cmd, localAddress)
	return cmd.FullCommand(), func(p program) error {
		recordings, err := openIncidents()
		if err != nil {
			return err
		}
		out := throughTerminal(p.out)
		defer out.close()
		d := newDemo(recordings, pace, out)
		// The terminal already shows all events.
		level := promslog.NewLevel()
		_ = level.Set("warn") // which is a level
		p.logger = promslog.New(&promslog.Config{Level: level, Writer: p.log})
		return d.serve(p, listen, func(address net.Addr) { d.introduce(addressForABrowser(address)) }, d.conclude)
	}
}

// demo is a replay that prints an introduction, all transitions and incidents, and a final table.
type demo struct {
	*replay
	out io.Writer
	// site is the URL of the demo's pages.
	site string
}

func newDemo(recordings []clusterRecording, speed float64, out io.Writer) *demo {
	d := &demo{out: out}
	d.replay = newReplay(recordings, speed, defaultSettings(), func(x clusterRecording) reporter {
		t := newTerminal(out)
		t.brief, t.heading = true, fmt.Sprintf("\n== %s, recorded on %s (UTC): %s", x.cluster, x.header.Recorded.UTC().Format(time.DateOnly), phrase.Line(x.header.Title))
		return t
	})
	return d
}

// introduce prints the number of recordings and the URLs.
func (d *demo) introduce(site string) {
	d.site = site
	fmt.Fprintf(d.out, "kubeflap replays %d recordings of a real control plane.\n\n"+
		"Recordings 1, 2 and 3 use a short grace period of 10 to 24 seconds, so that no incident takes long.\n"+
		"The grace period is the time that the node controller waits for a heartbeat before it marks a node Unknown.\n\n"+
		"  incidents  %[2]s/flaps\n  metrics    %[2]s/metrics\n\nPress Ctrl-C to stop the demo.\n", len(d.recordings), d.site)
}

// addressForABrowser returns the URL of a server that listens at this address.
func addressForABrowser(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// conclude prints a table of all incidents.
func (d *demo) conclude() {
	answer := web.Answer(d.clusters(), &api.Query{})
	fmt.Fprintln(d.out)
	_ = api.Table(d.out, &answer, false, d.site) // an error means that the terminal is gone
	fmt.Fprintln(d.out, "\nThe replay is complete. To see why kubeflap excluded other causes, open a link above.\n\nPress Ctrl-C to stop the demo.")
}

// openIncidents opens the embedded recordings, sorted by name.
func openIncidents() ([]clusterRecording, error) {
	files, err := recording.Incidents.ReadDir("incidents")
	if err != nil {
		return nil, fmt.Errorf("list the recorded incidents: %w", err)
	}
	var all []clusterRecording
	for _, entry := range files {
		file, err := recording.Incidents.Open("incidents/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("open the incident %s: %w", entry.Name(), err)
		}
		reader, err := recording.NewReader(file, entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, opened(reader, strings.TrimSuffix(entry.Name(), ".jsonl.gz")))
	}
	return all, nil
}
