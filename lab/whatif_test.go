package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

var whatIf = flag.Bool("whatif", false, "run only TestWhatIf, which takes about 9 minutes")

// whatIfSettings lists the settings of the controller managers.
var whatIfSettings = []struct{ grace, monitor time.Duration }{
	{20 * time.Second, 2 * time.Second},
	{24 * time.Second, time.Second},
	{30 * time.Second, 5 * time.Second},
	{40 * time.Second, 2 * time.Second},
}

const (
	// whatIfNodes is the number of nodes in each cluster. The first one is always healthy.
	whatIfNodes = 5
	// whatIfRounds is the number of silences per node.
	whatIfRounds = 6
	// Silences are spread evenly between these durations.
	shortestSilence, longestSilence = 12 * time.Second, 62 * time.Second
	// recovery is the time between two silences of a node, in which it recovers.
	recovery = 25 * time.Second
)

// fault is a silence of a node. It begins at a heartbeat.
type fault struct {
	node   string
	silent time.Duration
}

// faultScript returns the silences of each node, which are the same in every cluster.
func faultScript(seed uint64) map[string][]fault {
	const n = (whatIfNodes - 1) * whatIfRounds
	random := rand.New(rand.NewPCG(seed, 0))
	script := map[string][]fault{}
	for i, step := range random.Perm(n) {
		node := cluster.NodeName(1 + i%(whatIfNodes-1))
		silent := shortestSilence + time.Duration((float64(step)+random.Float64())/n*float64(longestSilence-shortestSilence))
		script[node] = append(script[node], fault{node, silent})
	}
	return script
}

// happened is the result of a fault in one cluster. unknown reports whether the controller manager set the node to
// Unknown.
type happened struct {
	fault
	from, to time.Time
	unknown  bool
}

// TestWhatIf checks the predictions of kubeflap whatif. The same faults run in several clusters, whose controller
// managers have different settings, and each cluster is recorded. From each recording, kubeflap predicts the results in
// every other cluster. At least 95 % of the "yes" predictions and of the "no" predictions must be right, and at most 10
// % may be "too close" or unknown. The numbers of lost addresses and evictions must be within the predicted ranges, and
// the outage seconds within 2.5 s per outage.
func TestWhatIf(t *testing.T) {
	if !*whatIf {
		t.Skip("only run by make lab-whatif")
	}
	kubeflap := buildKubeflap(t)
	script := faultScript(1)
	all := make([][]happened, len(whatIfSettings))
	recordings := make([]string, len(whatIfSettings))
	group, ctx := errgroup.WithContext(t.Context())
	var clusters []*whatIfCluster
	for i, x := range whatIfSettings {
		recordings[i] = filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%s.jsonl", x.grace, x.monitor))
		if *record != "" {
			recordings[i] = filepath.Join(*record, fmt.Sprintf("grace-%s-%s.jsonl", x.grace, x.monitor))
		}
		c, err := startWhatIf(t, kubeflap, x.grace, x.monitor, recordings[i])
		if err != nil {
			t.Fatal(err)
		}
		clusters = append(clusters, c)
	}
	for i, c := range clusters {
		group.Go(func() (err error) {
			all[i], err = c.run(ctx, script)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	total, answers := tally{}, map[predictionKey]string{}
	for i, from := range whatIfSettings {
		for j, to := range whatIfSettings {
			if i == j {
				continue
			}
			there, err := predictWhatIf(t.Context(), kubeflap, recordings[j], to.grace, to.monitor)
			if err != nil {
				t.Fatal(err)
			}
			predicted, err := predictWhatIf(t.Context(), kubeflap, recordings[i], to.grace, to.monitor)
			if err != nil {
				t.Fatal(err)
			}
			one := predicted.compare(all[i], all[j])
			for f, answer := range one.answers {
				answers[predictionKey{f, from.grace, to.grace}] = answer
			}
			one.compareEffects(predicted, there.Recorded.AddressesLost, clusters[j].meter.measured())
			t.Logf("predictions for %s/%s from %s/%s: %s", to.grace, to.monitor, from.grace, from.monitor, one)
			total.add(one)
		}
	}
	for i, c := range clusters {
		t.Logf("%s/%s: %+v", whatIfSettings[i].grace, whatIfSettings[i].monitor, c.meter.measured())
	}
	t.Logf("all %d pairs: %s", len(whatIfSettings)*(len(whatIfSettings)-1), total)
	if err := errors.Join(total.check(), total.checkEffects(), recordMarks(all, answers)); err != nil {
		t.Error(err)
	}
}

// mark is a line of the file grace-marks.jsonl: what a controller manager did after a silence, and what kubeflap whatif
// predicted from the recordings of the other clusters.
type mark struct {
	Grace     string            `json:"grace"`
	Monitor   string            `json:"monitor"`
	Node      string            `json:"node"`
	From      time.Time         `json:"from"`
	To        time.Time         `json:"to"`
	Unknown   bool              `json:"unknown"`
	Predicted map[string]string `json:"predicted"`
}

// recordMarks writes the marks of all clusters to the directory of -record, if it is set.
func recordMarks(all [][]happened, predicted map[predictionKey]string) error {
	if *record == "" {
		return nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i, x := range whatIfSettings {
		for _, h := range all[i] {
			m := mark{x.grace.String(), x.monitor.String(), h.node, h.from, h.to, h.unknown, map[string]string{}}
			for key, answer := range predicted {
				if key.fault == h.fault && key.to == x.grace {
					m.Predicted[key.from.String()] = answer
				}
			}
			if err := encoder.Encode(m); err != nil {
				return fmt.Errorf("write the marks: %w", err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(*record, "grace-marks.jsonl"), lines.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the marks: %w", err)
	}
	return nil
}

// tally counts predictions.
type tally struct {
	yes, yesRight, no, noRight, tooClose, unknown int
	losses, evictions, outages                    amount
	misses                                        []string
	// answers holds the predictions of one pair of clusters.
	answers map[fault]string
}

// predictionKey identifies a prediction for a fault in one cluster from the recording of another.
type predictionKey struct {
	fault
	from, to time.Duration
}

func (x *tally) add(y tally) {
	x.yes, x.yesRight, x.no, x.noRight = x.yes+y.yes, x.yesRight+y.yesRight, x.no+y.no, x.noRight+y.noRight
	x.tooClose, x.unknown = x.tooClose+y.tooClose, x.unknown+y.unknown
	x.losses.add(y.losses)
	x.evictions.add(y.evictions)
	x.outages.add(y.outages)
	x.misses = append(x.misses, y.misses...)
}

func (x tally) String() string {
	return strings.Join(append([]string{fmt.Sprintf("right: %d of %d yes, %d of %d no; %d too close, %d unknown; lost addresses: %s; evictions: %s; outage seconds: %s",
		x.yesRight, x.yes, x.noRight, x.no, x.tooClose, x.unknown, x.losses, x.evictions, x.outages)},
		x.misses...), "\n    ")
}

func (x tally) check() error {
	var errs []error
	if x.yes == 0 || x.no == 0 || x.yesRight*100 < 95*x.yes || x.noRight*100 < 95*x.no {
		errs = append(errs, fmt.Errorf("want at least 95 %% of yes and 95 %% of no right, got: %s", x))
	}
	if n := x.yes + x.no + x.tooClose + x.unknown; (x.tooClose+x.unknown)*100 > 10*n {
		errs = append(errs, fmt.Errorf("want at most 10 %% of %d too close or unknown, got: %s", n, x))
	}
	return errors.Join(errs...)
}

// prediction is the output of kubeflap whatif.
type prediction struct {
	Recorded struct{ AddressesLost, OutageSeconds float64 }
	Settings []struct {
		AddressesLost, Evictions, OutageSeconds numberRange
		Transitions                             []struct {
			Node           string
			LastHeartbeat  time.Time
			SilenceSeconds float64
			Predicted      string
		}
	}
}

type numberRange struct{ AtLeast, AtMost float64 }

func predictWhatIf(ctx context.Context, kubeflap, recording string, grace, monitor time.Duration) (prediction, error) {
	var p prediction
	output, err := exec.CommandContext(ctx, kubeflap, "whatif", "--recording="+recording, "--output=json",
		"--node-monitor-grace-period="+grace.String(), "--node-monitor-period="+monitor.String()).Output()
	if err != nil {
		return p, fmt.Errorf("predict: %w", err)
	}
	if err := json.Unmarshal(output, &p); err != nil {
		return p, fmt.Errorf("read the prediction: %w", err)
	}
	return p, nil
}

// compare compares the predictions with the results in another cluster.
func (p prediction) compare(here, there []happened) (x tally) {
	x.answers = map[fault]string{}
	actual := map[fault]happened{}
	for _, h := range there {
		actual[h.fault] = h
	}
	for _, h := range here {
		predicted, seconds := "no", 0.0
		for _, silence := range p.Settings[0].Transitions {
			end := silence.LastHeartbeat.Add(time.Duration(silence.SilenceSeconds * float64(time.Second)))
			if silence.Node == h.node && silence.LastHeartbeat.Before(h.to) && end.After(h.from.Add(h.silent/2)) {
				predicted, seconds = silence.Predicted, silence.SilenceSeconds
			}
		}
		x.answers[h.fault] = predicted
		x.count(predicted, actual[h.fault], seconds)
	}
	return x
}

func (x *tally) count(predicted string, h happened, seconds float64) {
	right := h.unknown == (predicted == "yes")
	switch predicted {
	case "yes":
		x.yes++
	case "no":
		x.no++
	case "too_close":
		x.tooClose++
		return
	default:
		x.unknown++
		return
	}
	switch {
	case !right:
		x.misses = append(x.misses, fmt.Sprintf("predicted %s, but Unknown is %v: %s was silent for %.2f s in the recording, and for %.2f s in the other cluster, at %s",
			predicted, h.unknown, h.node, seconds, h.to.Sub(h.from).Seconds(), h.from.UTC().Format(time.TimeOnly)))
	case predicted == "yes":
		x.yesRight++
	default:
		x.noRight++
	}
}
