package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/heartbeats"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Past is what a Log keeps when kubeflap does not watch for some time.
type Past struct {
	verdict.Past
	Late    []heartbeats.Late `json:"late"`
	Ongoing []record.Ongoing  `json:"ongoing"`
}

// Past returns what was known at t. Pass it to Restore.
func (l *Log) Past(t time.Time) Past {
	return ask(l, t, func() Past { return Past{l.records.History.Past(t), l.records.Late(t), l.records.Ongoing(t)} })
}

// Restore takes over the silences that were observed before t. They are taken into account in the verdicts about later
// incidents. If an incident that was ongoing is found again, it keeps its ID and its start. Call Restore before the first
// transition.
func (l *Log) Restore(p Past, t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.History.Restore(p.Past, t)
	l.records.RestoreLate(p.Late)
	l.records.Restore(p.Ongoing, t)
}

// Forget removes those incidents for which drop returns true, of those that had ended by t.
func (l *Log) Forget(t time.Time, drop func(incident.Incident) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	l.records.Forget(drop)
}
