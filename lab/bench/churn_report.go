package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

func (c Churned) write(page string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. For %s, the benchmark created a Service with %d pods every %s, and deleted the oldest of %d such Services. In total, it replaced %s Services. Each new Service had a new name.\n\n",
		c.Size, model.Duration(c.Duration), churnPods, model.Duration(churnPeriod), churnStanding, count(float64(c.Services)))
	writeRow(&b, []string{"", "mean", "change per hour", "relative to the mean"})
	writeRow(&b, []string{"---", "---", "---", "---"})
	for _, v := range []struct {
		what, axis string
		factor     float64
		of         func(Sample) float64
	}{
		{"Memory", "MiB", 1.0 / (1 << 20), func(s Sample) float64 { return s.Memory }},
		{"Heap at the next collection", "MiB", 1.0 / (1 << 20), func(s Sample) float64 { return s.Heap }},
		{"CPU per minute", "s", 1, func(s Sample) float64 { return s.CPUPerMinute }},
		{"Series", "", 1, func(s Sample) float64 { return s.Series }},
		{"Goroutines", "", 1, func(s Sample) float64 { return s.Goroutines }},
	} {
		var x, y []float64
		for _, s := range c.settled() {
			x, y = append(x, s.After.Hours()), append(y, v.of(s)*v.factor)
		}
		f, average := fitted(x, y), mean(y)
		writeRow(&b, []string{
			v.what, fmt.Sprintf("%.4g %s", average, v.axis), fmt.Sprintf("%+.3g %s", f.slope, v.axis), fmt.Sprintf("%+.1f %%", f.slope/average*100),
		})
	}
	return writePart(page, partChurn, b.String())
}

// settled returns all samples except those from the start of the run, when kubeflap's history is still growing. It
// omits the first sixth of the run, but at most 10 minutes.
func (c Churned) settled() (samples []Sample) {
	for _, s := range c.Samples {
		if s.After > min(c.Duration/6, 10*time.Minute) {
			samples = append(samples, s)
		}
	}
	return samples
}
