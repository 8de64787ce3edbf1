package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

func (r Recorded) write(page string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Two kubeflap instances watched the same cluster for %s, one of them with `--data.dir`. Recording the initial lists takes up %s.\n\n",
		r.Size, model.Duration(r.Duration), bytesize(r.List))
	writeRow(&b, []string{"", "", "without", "with `--data.dir`", "difference"})
	writeRow(&b, []string{"---", "---", "---", "---", "---"})
	for _, p := range r.Phases {
		for _, v := range []struct {
			figure string
			unit   unit
			of     func(Sample) float64
		}{
			{"CPU per minute", seconds, func(s Sample) float64 { return s.CPUPerMinute }},
			{"Memory", mebibytes, func(s Sample) float64 { return s.Memory }},
		} {
			without, with := meanOf(p.Without, v.of), meanOf(p.With, v.of)
			writeRow(&b, []string{p.Name, v.figure, v.unit(without), v.unit(with), fmt.Sprintf("%s, %+.1f %%", v.unit(with-without), 100*(with-without)/without)})
		}
		writeRow(&b, []string{p.Name, "Recordings per node and day", "", bytesize(r.perNodeAndDay(p)), ""})
	}
	without, with := median(r.Without), median(r.With)
	writeRow(&b, []string{"start with " + bytesize(r.Full) + " of recordings", "Time until synced, median", seconds(without), seconds(with), seconds(with - without)})
	writePart(page, partRecorder, b.String())
}

// perNodeAndDay returns how many bytes kubeflap would record per node and day under this load, including the lists.
func (r Recorded) perNodeAndDay(p RecorderPhase) float64 {
	return (segments*r.List + p.Bytes*float64(24*time.Hour)/float64(r.Duration/time.Duration(len(r.Phases)))) / float64(r.Size.Nodes)
}

func meanOf(samples []Sample, of func(Sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	return mean(values)
}
