package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kingpin/v2"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

func registerDemo(app *kingpin.Application) (string, command) {
	cmd := app.Command("demo", "Replay five recordings of incidents that happened on a real control plane. Needs no cluster.")
	var pace float64
	addFlag(cmd, "speed", "Replay speed. 1 is the recorded speed, 10 is ten times as fast.", &pace, parseSpeed).Default("10")
	flags := addPipelineFlags(cmd)
	listen := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		if err := checkWeb(listen); err != nil {
			return err
		}
		recordings, err := openIncidents()
		if err != nil {
			return err
		}
		moved, err := takeFreePort(p.ctx, listen)
		if err != nil {
			return err
		}
		out := throughTerminal(p.out)
		defer out.close()
		d := newDemo(recordings, pace, *flags, addressForABrowser((*listen.WebListenAddresses)[0]), os.Args[0], out)
		d.introduce(moved)
		p.logger = slog.New(onlyWarnings{p.logger.Handler()})
		return d.serve(p, listen)
	}
}

// demo is a replay that prints an introduction, all transitions and incidents, and a final table.
type demo struct {
	*replay
	out io.Writer
	// site is the URL of the demo's pages.
	site string
	// program is the command that started the demo.
	program string
}

func newDemo(recordings []clusterRecording, speed float64, settings settings, site, program string, out io.Writer) demo {
	d := demo{out: out, site: site, program: program}
	d.replay = newReplay(recordings, speed, settings, func(cluster string) reporter {
		i := slices.IndexFunc(recordings, func(x clusterRecording) bool { return x.cluster == cluster })
		header := recordings[i].header
		return &terminal{
			out: out, page: site + "/flaps?" + url.Values{"cluster": {cluster}}.Encode(),
			heading: fmt.Sprintf("\n== %s, recorded on %s (UTC): %s", cluster, header.Recorded.UTC().Format(time.DateOnly), phrase.Line(header.Title)),
		}
	})
	d.afterReplay = func(*slog.Logger) { d.conclude() }
	return d
}

// introduce prints the list of recordings and the URLs. `moved` is set if the demo does not use the default port.
func (d demo) introduce(moved bool) {
	fmt.Fprintf(d.out, "kubeflap replays %d recordings of a real control plane:\n\n", len(d.recordings))
	for _, rec := range d.recordings {
		fmt.Fprintf(d.out, "  %-22s  %s\n", rec.cluster, phrase.Line(rec.header.Title))
	}
	fmt.Fprint(d.out, "\nRecordings 1, 3 and 5 use a short grace period of 10 to 24 seconds, so that no incident takes long.\n"+
		"The grace period is the time that the node controller waits for a heartbeat before it marks a node Unknown.\n\n")
	if moved {
		fmt.Fprintf(d.out, "The port %s is in use, so the demo uses a different port.\n\n", strings.TrimPrefix(defaultAddress, ":"))
	}
	fmt.Fprintf(d.out, "  incidents  %[1]s/flaps\n  metrics    %[1]s/metrics\n", d.site)
	fmt.Fprintln(d.out, "\nPress Ctrl-C to stop the demo.")
}

// addressForABrowser returns the URL of a server with this listen address.
func addressForABrowser(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || host == "" || net.ParseIP(host).IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// conclude prints a table of all incidents.
func (d demo) conclude() {
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	example := "ID"
	fmt.Fprintln(table, "\nRECORDING\tID\tINCIDENT\tHIT\tVERDICT\tFIRST STEP")
	for i, pipeline := range d.pipelines {
		asOf := pipeline.advance()
		incidents := pipeline.incidents.Incidents(asOf)
		slices.SortStableFunc(incidents, func(a, b incident.Incident) int { return a.Start.Compare(b.Start) })
		for _, x := range incidents {
			row := api.Of("", asOf, &x)
			example = api.ShortID(x.ID)
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, example, phrase.Line(row.What()), phrase.Line(row.Hit()), x.Verdict, advice.FirstStep(x.Verdict))
		}
	}
	_ = table.Flush() // an error means that the terminal is gone
	fmt.Fprintf(d.out, "\nThe replay is complete. To see why kubeflap excluded other causes, open %[1]s/flaps, or run in another terminal:\n\n"+
		"  %[2]s incidents --url %[1]s              # list the incidents\n"+
		"  %[2]s incidents --url %[1]s %-8[3]s     # show one of them in full\n\n"+
		"Press Ctrl-C to stop the demo.\n", d.site, d.program, example)
}

// takeFreePort selects another port if the default port is in use, and reports whether it did. Other commands must not
// select another port, because Prometheus would not find it.
func takeFreePort(ctx context.Context, listen *toolkit.FlagConfig) (moved bool, err error) {
	if addresses := *listen.WebListenAddresses; len(addresses) != 1 || addresses[0] != defaultAddress {
		return false, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", defaultAddress)
	if err == nil {
		return false, listener.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return false, nil // listening again will return the same error
	}
	if listener, err = config.Listen(ctx, "tcp", ":0"); err != nil {
		return false, fmt.Errorf("find a free port: %w", err)
	}
	*listen.WebListenAddresses = []string{fmt.Sprintf(":%d", listener.Addr().(*net.TCPAddr).Port)}
	return true, listener.Close()
}

// onlyWarnings is a log handler that drops lines below the warning level. The demo's terminal already shows all events.
type onlyWarnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h onlyWarnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
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
		all = append(all, clusterRecording{openedReader(reader), strings.TrimSuffix(path.Base(entry.Name()), ".jsonl.gz")})
	}
	return all, nil
}
