// Package postmortem writes a report on the incidents of a period as a single Markdown or HTML file. The report
// contains the incidents, the advice, and the times at which kubeflap was not watching.
//
// The package reads no clock, so the same recording produces the same bytes.
package postmortem

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// Input is the data for a report.
type Input struct {
	// From and To are the start and the end of the period. From is zero if the period begins with the oldest known
	// incident.
	From, To time.Time
	Filter   Filter
	// Answer holds the incidents of the period that match the filter.
	Answer api.Answer
	// Start is the state at the start of the recording. It is nil for a running kubeflap, which does not keep this
	// state.
	Start *Start
	// Advice holds the recommended settings. It is nil if they could not be determined. NoAdvice then holds the reason.
	Advice   *report.Report
	NoAdvice string
	// WhatIf predicts from the recording what other settings would have changed. It is nil if no recording was read.
	// NoWhatIf then holds the reason.
	WhatIf   *answer.Answer
	NoWhatIf string
	Source   Source
}

// Filter limits a report to a Service, a namespace, a node or a cluster. Empty fields do not limit it.
type Filter struct{ Namespace, Service, Node, Cluster string }

// Source describes the origin of a report.
type Source struct {
	// Version is the version of kubeflap that writes the report. Server is the version of the running kubeflap that
	// sent the data. Server is empty if the version is unknown, or if the data is from a recording.
	Version, Server string
	// Kubernetes lists the versions of the API server in order of appearance. It is empty if they are unknown.
	Kubernetes []string
	// Recording describes the recording. It is nil for a running kubeflap.
	Recording *Recording
	// URL is the URL of the running kubeflap, or another description of this kubeflap, such as its Service.
	URL string
}

// Recording describes a recording file, or a --data.dir directory.
type Recording struct {
	// File is the name of the file or directory. SHA256 is the file's checksum in hexadecimal, and Size is its length
	// in bytes.
	File, SHA256 string
	// Directory is set for a directory. A directory has no checksum, because its files change.
	Directory  bool
	Size       int64
	Title      string
	Anonymised bool
	// Damage explains why only the first part of the recording could be replayed. It is empty if the recording is
	// complete.
	Damage string
}
