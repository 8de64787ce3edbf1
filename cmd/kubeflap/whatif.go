package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/whatif"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// maxSettings is the maximum number of rows in the table.
const maxSettings = 100

// whatIf holds the flags of the whatif command.
type whatIf struct {
	source                              source
	output                              string
	recorded                            positiveDuration
	grace, monitor, window, tolerations durations
}

func registerWhatIf(app *kingpin.Application) (string, command) {
	w := &whatIf{}
	cmd := app.Command("whatif", "Use a recording to predict the effects of other settings. The prediction includes the numbers of Unknown nodes, lost addresses, "+
		"outages and evictions, and the detection time for failed nodes.")
	w.source.addFlags(cmd)
	list := func(name, help string, into *durations) {
		cmd.Flag(name, help).PlaceHolder("DURATIONS").SetValue(named{into, name})
	}
	list("node-monitor-grace-period", "Grace periods to compare, separated by commas. By default, 20s, 30s, 40s, 50s, 60s, 90s, 120s, and the recorded grace period if it is at least 11s.", &w.grace)
	list("node-monitor-period", "Node monitor periods to compare, separated by commas. By default, only the recorded period.", &w.monitor)
	addFlag(cmd, "batching-window", "Client batching windows to compare, separated by commas. Allowed values are 0s, 2s, 5s and 10s.", "0s", &w.window)
	cmd.Flag("toleration", "Values of tolerationSeconds to compare, separated by commas, such as 30s,300s. They replace the recorded values of all pods, "+
		"except pods that tolerate an unreachable node forever. By default, each pod keeps its recorded value.").PlaceHolder("DURATIONS").SetValue(&w.tolerations)
	addFlag(cmd, "recorded-grace-period", "The grace period during the recording. With 0s, it is read from the recording.", "0s", &w.recorded)
	addFlag(cmd, "output", "Output format: text or json.", "text", choice{&w.output, []string{"text", "json"}})
	cmd.Validate(func(*kingpin.CmdClause) error { return w.validate() })
	return cmd.FullCommand(), w.predict
}

func (w *whatIf) validate() error {
	if err := w.source.validate(); err != nil {
		return err
	}
	if slices.Contains(w.grace, 0) {
		return errors.New("--node-monitor-grace-period: must be more than 0s")
	}
	if slices.ContainsFunc(w.monitor, func(x time.Duration) bool { return x < whatif.MinMonitorPeriod }) {
		return fmt.Errorf("--node-monitor-period: must be at least %s", whatif.MinMonitorPeriod)
	}
	windows := consumers.Windows()
	for _, x := range w.window {
		if !slices.Contains(windows[:], x) {
			return fmt.Errorf("--batching-window: %s is not one of 0s, 2s, 5s, 10s", x)
		}
	}
	// Count the combinations before creating them, because there may be very many.
	graces := len(w.grace)
	if graces == 0 {
		graces = len(whatif.UsualGracePeriods(whatif.Settings{}))
	}
	if n := graces * max(len(w.monitor), 1) * max(len(w.tolerations), 1) * len(w.window); n > maxSettings {
		return fmt.Errorf("the flags result in %d combinations of settings, but at most %d can be compared", n, maxSettings)
	}
	return nil
}

// study returns a Study for the flags. The recorded --node-monitor-period is not known yet, so study assumes the
// minimum. With the minimum, the Study keeps every silence that can matter.
func (w *whatIf) study() *whatif.Study {
	if len(w.grace) == 0 {
		return whatif.NewUsual(time.Duration(w.recorded))
	}
	return whatif.New(w.settings(whatif.Settings{MonitorPeriod: whatif.MinMonitorPeriod}), time.Duration(w.recorded))
}

// settings returns all combinations of the flags' values in ascending order. If a flag is not set, settings derives its
// values from the recorded settings.
func (w *whatIf) settings(recorded whatif.Settings) []whatif.Settings {
	graces, monitors, tolerations := w.grace, w.monitor, w.tolerations
	if len(graces) == 0 {
		graces = whatif.UsualGracePeriods(recorded)
	}
	if len(monitors) == 0 {
		monitors = durations{recorded.MonitorPeriod}
	}
	if len(tolerations) == 0 {
		tolerations = durations{whatif.AsRecorded}
	}
	var all []whatif.Settings
	for _, grace := range graces {
		for _, monitor := range monitors {
			for _, toleration := range tolerations {
				for _, window := range w.window {
					all = append(all, whatif.Settings{GracePeriod: grace, MonitorPeriod: monitor, Toleration: toleration, Window: window})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b whatif.Settings) int {
		return cmp.Or(cmp.Compare(a.GracePeriod, b.GracePeriod), cmp.Compare(a.MonitorPeriod, b.MonitorPeriod),
			cmp.Compare(a.Toleration, b.Toleration), cmp.Compare(a.Window, b.Window))
	})
	return slices.Compact(all)
}

// predict reads the recording and prints the prediction. For a damaged recording, it uses the events before the damage
// and returns the error.
func (w *whatIf) predict(p program) (err error) {
	reader, stop, err := w.source.open(p.ctx)
	if err != nil {
		return err
	}
	defer stop()
	study := w.study()
	events := 0
	for ev, damage := range reader.Events() {
		if damage != nil || p.ctx.Err() != nil {
			err = errors.Join(damage, p.ctx.Err())
			break
		}
		study.Apply(ev)
		events++
	}
	if events == 0 {
		return errors.Join(err, fmt.Errorf("recording %s has no events", w.source.name()))
	}
	study.Finish()
	recorded, _ := study.Recorded()
	return errors.Join(w.write(p, study.Predict(w.settings(recorded))), err)
}

func (w *whatIf) write(p program, given answer.Answer) error {
	if w.output == "text" {
		answer.WriteText(p.out, given, printable.Line(w.source.name()))
		return nil
	}
	encoder := json.NewEncoder(p.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(given); err != nil {
		return fmt.Errorf("print the prediction: %w", err)
	}
	return nil
}

// durations is a flag value with comma-separated durations. A number without a unit is in seconds.
type durations []time.Duration

// Set implements kingpin.Value. It replaces the previous durations.
func (d *durations) Set(s string) error {
	*d = nil
	for part := range strings.SplitSeq(s, ",") {
		if _, err := strconv.ParseUint(part, 10, 32); err == nil {
			part += "s"
		}
		var one positiveDuration
		if err := one.Set(part); err != nil {
			return err
		}
		*d = append(*d, time.Duration(one))
	}
	return nil
}

// String implements kingpin.Value.
func (d *durations) String() string {
	var all []string
	for _, one := range *d {
		all = append(all, one.String())
	}
	return strings.Join(all, ",")
}
