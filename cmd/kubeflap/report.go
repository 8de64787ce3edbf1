package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/postmortem"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// reportWriter holds the flags of the report command.
type reportWriter struct {
	instance
	recording, format, file string
	from, to                timeOrAgo
	affected, node          string
	tracker                 *trackerFlags
}

func registerReport(app *kingpin.Application) (string, command) {
	r := &reportWriter{}
	cmd := app.Command("report", "Write a post-mortem of the incidents in a period as one Markdown or HTML file. Reads a recording (--recording), "+
		"the kubeflap instance at a URL (--url), or the instance in the kubeconfig's cluster.")
	cmd.Flag("recording", "Read this recording, or this --data.dir directory. A report on a recording includes its checksum, and the same recording always produces the same report.").StringVar(&r.recording)
	cmd.Flag("from", "Start of the period, such as 2026-03-01T12:00:00Z. A duration such as 2h counts back from the end of the recording, or from now. "+
		"The default is the start of the recording, or of the oldest incident that the running instance keeps.").PlaceHolder("TIME").SetValue(named{&r.from, "from"})
	cmd.Flag("to", "End of the period, in the same format as --from. The default is the end of the recording, or now.").PlaceHolder("TIME").SetValue(named{&r.to, "to"})
	cmd.Flag("service", "Report only incidents that affected this Service (NAMESPACE/NAME).").PlaceHolder("NAMESPACE/NAME").StringVar(&r.affected)
	cmd.Flag("node", "Report only incidents that affected this node.").PlaceHolder("NAME").StringVar(&r.node)
	cmd.Flag("format", "Output format: markdown or html. The default is html if the name of the output file ends in .html or .htm, else markdown.").
		SetValue(named{choice{&r.format, []string{"markdown", "html"}}, "format"})
	cmd.Flag("output-file", "The file to write. It must not exist yet. By default, the report is written to standard output.").Short('O').
		PlaceHolder("FILE").StringVar(&r.file)
	r.addFlags(cmd, "kubeflap-service", "Report only incidents that affected a Service in this namespace.",
		"Report only incidents of this cluster, if the kubeflap instance serves several clusters.")
	r.tracker = addTrackerFlags(cmd)
	cmd.Validate(func(*kingpin.CmdClause) error { return r.validate() })
	return cmd.FullCommand(), r.report
}

// validate rejects flags that cannot be combined.
func (r *reportWriter) validate() error {
	namespace, name, found := strings.Cut(r.affected, "/")
	switch {
	case r.recording != "" && r.remote.url != "":
		return errors.New("--recording and --url are mutually exclusive")
	case r.recording != "" && (r.cluster.given() || r.instance.service+r.remote.cluster+r.remote.config != ""):
		return errors.New("--kubeconfig, --context, --cluster, --user, --kubeflap-service, --url.cluster and --url.config do not apply to --recording")
	case r.recording == "" && *r.tracker != trackerDefaults():
		return errors.New("--node-monitor-grace-period, --bounce-window, --endpoints.source and --endpoints.known-manager need --recording: set them on the running kubeflap")
	case r.affected != "" && (!found || namespace == "" || name == "" || strings.Contains(name, "/")):
		return fmt.Errorf("--service: %q is not NAMESPACE/NAME", r.affected)
	case r.affected != "" && r.node != "":
		return errors.New("--service and --node are mutually exclusive")
	case *r.cluster.namespace != "" && r.affected+r.node != "":
		return errors.New("--namespace does not apply to --node, nor to --service, which includes the namespace")
	}
	return r.instance.validate()
}

func (r *reportWriter) filter() postmortem.Filter {
	f := postmortem.Filter{Namespace: *r.cluster.namespace, Node: r.node, Cluster: r.remote.cluster}
	if r.affected != "" {
		f.Namespace, f.Service, _ = strings.Cut(r.affected, "/")
	}
	return f
}

// report writes the post-mortem. If a recording is damaged, the post-mortem covers the part before the damage, and this
// method returns the error.
func (r *reportWriter) report(p program) error {
	if r.file != "" {
		// Fail early if the file exists, because reading can take a long time.
		if _, err := os.Lstat(r.file); err == nil {
			return fmt.Errorf("--output-file: %w", existsError(r.file))
		}
	}
	in := postmortem.Input{Filter: r.filter()}
	in.Source.Version = version.Version
	read := r.readRunning
	if r.recording != "" {
		read = r.readRecording
	}
	damage, err := read(p, &in)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	write := postmortem.Markdown
	if r.isHTML() {
		write = postmortem.HTML
	}
	if err := write(&text, &in); err != nil {
		return err
	}
	return errors.Join(r.save(p.out, text.Bytes()), damage)
}

func (r *reportWriter) isHTML() bool {
	if r.format != "" {
		return r.format == "html"
	}
	return slices.Contains([]string{".html", ".htm"}, strings.ToLower(filepath.Ext(r.file)))
}

func existsError(file string) error {
	return fmt.Errorf("%s already exists and is not overwritten", file)
}

// save writes the report to the file, or to `out` if no file is set. It does not overwrite a file. If a write fails, it
// removes the incomplete file.
func (r *reportWriter) save(out io.Writer, text []byte) error {
	if r.file == "" {
		if _, err := out.Write(text); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		return nil
	}
	// Like a recording, a report contains names from the cluster, so other users must not be able to read it.
	file, err := os.OpenFile(r.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = existsError(r.file)
	}
	if err != nil {
		return fmt.Errorf("--output-file: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("--output-file: %w", err), os.Remove(r.file))
	}
	return nil
}

// period returns the times of --from and --to. The defaults are `begin` and `now`. For a recording, `now` is the end of
// the recording.
func (r *reportWriter) period(begin, now time.Time) (from, to time.Time, err error) {
	from, to = r.from.resolve(now, begin), r.to.resolve(now, now)
	if to.Before(from) && r.to.given() {
		return from, to, fmt.Errorf("--to: %s is before the start of the period, %s", inUTC(to), inUTC(from))
	}
	return from, to, nil
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// selection returns the API parameters that select a period's incidents. A zero time means no limit.
func selection(f postmortem.Filter, from, to time.Time) url.Values {
	values := url.Values{}
	add := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	add("namespace", f.Namespace)
	add("service", f.Service)
	add("node", f.Node)
	for name, t := range map[string]time.Time{"from": from, "to": to} {
		if !t.IsZero() {
			add(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	return values
}

// timeOrAgo is a flag value for a point in time. The value 2h means two hours before now, or before the end of a
// recording.
type timeOrAgo struct {
	text string
	time time.Time
	ago  time.Duration
}

// Set implements kingpin.Value.
func (m *timeOrAgo) Set(s string) error {
	t, err := query.ParseTime(s)
	if err == nil {
		*m = timeOrAgo{text: s, time: t}
		return nil
	}
	var ago positiveDuration
	if ago.Set(s) != nil {
		return fmt.Errorf("%q is not a time such as 2026-03-01T12:00:00Z, or a duration such as 2h", s)
	}
	*m = timeOrAgo{text: s, ago: time.Duration(ago)}
	return nil
}

// String implements kingpin.Value.
func (m *timeOrAgo) String() string { return m.text }

func (m *timeOrAgo) given() bool { return m.text != "" }

// resolve returns the flag's time. A duration, such as 2h, is subtracted from `now`. If the flag is not set, resolve
// returns `otherwise`.
func (m *timeOrAgo) resolve(now, otherwise time.Time) time.Time {
	switch {
	case !m.given():
		return otherwise
	case m.time.IsZero():
		return now.Add(-m.ago)
	}
	return m.time
}
