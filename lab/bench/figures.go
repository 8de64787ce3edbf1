package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Figure is the name of a measured quantity. It is also the label of a row in the table.
type Figure string

// These are the measured quantities.
const (
	SyncedWall   Figure = "Time until synced"
	SyncedCPU    Figure = "CPU until synced"
	RestMemory   Figure = "Memory at rest"
	RestCPU      Figure = "CPU per minute at rest"
	EventCPU     Figure = "CPU per 1,000 events"
	Scraped      Figure = "Scrape, median"
	ScrapedBytes Figure = "Scrape, size"
	Series       Figure = "Series"
	SteadyMemory Figure = "Memory while scraped"
	BusyMedian   Figure = "Scrape under load, median"
	BusyP99      Figure = "Scrape under load, p99"
	Shown        Figure = "Event to scrape, p99"
	PeakMemory   Figure = "Peak memory overall"
)

type unit func(float64) string

func seconds(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return fmt.Sprintf("over %s", seconds(offsets()[len(offsets())-1].Seconds()))
	case v < 0.1:
		return fmt.Sprintf("%.3g ms", v*1000)
	default:
		return fmt.Sprintf("%.3g s", v)
	}
}

func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

func bytesize(v float64) string {
	if v < 1e6 {
		return fmt.Sprintf("%.1f kB", v/1e3)
	}
	return fmt.Sprintf("%.1f MB", v/1e6)
}

func count(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

type row struct {
	Figure
	unit unit
	// onPage is true if the page shows this figure. The log has all.
	onPage bool
}

func rows() []row {
	return []row{
		{SyncedWall, seconds, true},
		{SyncedCPU, seconds, true},
		{RestMemory, mebibytes, true},
		{SteadyMemory, mebibytes, true},
		{PeakMemory, mebibytes, true},
		{RestCPU, seconds, true},
		{EventCPU, seconds, true},
		{Series, count, true},
		{Scraped, seconds, true},
		{ScrapedBytes, bytesize, false},
		{BusyMedian, seconds, false},
		{BusyP99, seconds, false},
		{Shown, seconds, true},
	}
}

// Figures holds the measured values of one program.
type Figures map[Figure]float64

// medians returns the median of each figure over several runs.
func medians(runs []Figures) Figures {
	all := map[Figure][]float64{}
	for _, run := range runs {
		for figure, value := range run {
			all[figure] = append(all[figure], value)
		}
	}
	result := Figures{}
	for figure, values := range all {
		result[figure] = median(values)
	}
	return result
}

func median(values []float64) float64 { return quantile(0.5, values) }

// quantile returns a quantile of the values. It does not interpolate, except for the median of an even number of
// values.
func quantile(q float64, values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); q == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func inSeconds(durations []time.Duration) []float64 {
	var values []float64
	for _, d := range durations {
		values = append(values, d.Seconds())
	}
	return values
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
