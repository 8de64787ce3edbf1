package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

const (
	// resumeFrom is how much of the recordings kubeflap replays when it starts. If an incident is ongoing, it replays
	// everything since the start of the incident, but at most maxResumed. maxResumedSize is the maximum size of these
	// recordings in bytes, which takes about 7 s on two cores.
	resumeFrom     = 2 * time.Hour
	maxResumed     = 24 * time.Hour
	maxResumedSize = 16 << 20
)

// errOtherCluster means that the recordings do not continue: they come from another cluster, or another part of it.
var errOtherCluster = errors.New("the recordings are of another cluster or another --namespace")

// scope says what a process watches.
type scope struct {
	// Cluster is the UID of the Namespace kube-system. It is empty if unknown. Namespace is empty if the whole cluster
	// is watched.
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

func (s scope) matches(x scope) bool {
	return s.Namespace == x.Namespace && (s.Cluster == x.Cluster || s.Cluster == "" || x.Cluster == "")
}

// head is what each segment of the recordings contains beside its events: what a process watches, and what the lists at
// the beginning of the segment do not show.
type head struct {
	scope
	Tracker   track.Past  `json:"tracker"`
	Incidents ledger.Past `json:"incidents"`
}

// head returns the head of a segment that begins at t.
func (p *pipeline) head(t time.Time) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := json.Marshal(head{p.scope, p.tracker.Past(t), p.incidents.Past(t)}) // texts, times and numbers have no errors
	return text
}

// earlier holds the events that earlier processes recorded. They begin with the segment to which the head belongs.
type earlier struct {
	head   head
	begins time.Time
	events iter.Seq2[event.Event, error]
}

// findEarlier finds the recordings to replay. It returns nil if there are none. The start depends only on what was
// recorded, so two processes that start one after the other replay the same.
func findEarlier(dir string, watched scope) (*earlier, error) {
	segments, err := flightrecorder.Segments(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err //nolint:wrapcheck // the error contains the path
	}
	var end time.Time
	var damage error
	for ; len(segments) > 0; segments = segments[:len(segments)-1] {
		if end = segments[len(segments)-1].End(); !end.IsZero() {
			break
		}
		_, err := headOf(segments[len(segments)-1])
		damage = cmp.Or(damage, err)
	}
	if len(segments) == 0 {
		return nil, damage
	}
	newest, err := headOf(segments[len(segments)-1])
	if err != nil {
		return nil, err
	}
	if !newest.matches(watched) {
		return nil, errOtherCluster
	}
	first := firstToResume(segments, newest, end)
	found := &earlier{begins: first.Begins}
	if found.head, err = headOf(first); err != nil {
		return nil, err
	}
	if found.events, err = flightrecorder.Read(dir, first.Begins, end); err != nil {
		return nil, err //nolint:wrapcheck // the error contains the path
	}
	return found, nil
}

// firstToResume returns the segment with which the replay begins. The argument newest is the head of the last segment. If
// the clock was set back, the replay begins later, because its time cannot go back. It also begins after a long hole, such as
// that of a clock that was behind: no incident continues after it.
func firstToResume(segments []flightrecorder.Segment, newest head, end time.Time) flightrecorder.Segment {
	from := end.Add(-resumeFrom)
	for _, x := range newest.Incidents.Ongoing {
		if x.Start.Before(from) {
			from = x.Start
		}
	}
	if longest := end.Add(-maxResumed); from.Before(longest) {
		from = longest
	}
	first, size := segments[len(segments)-1], segments[len(segments)-1].Size
	for _, s := range slices.Backward(segments[:len(segments)-1]) {
		size += s.Size
		h, err := headOf(s)
		if errors.Is(err, recording.ErrEmpty) || errors.Is(err, recording.ErrCutShort) {
			continue // its process was killed before it recorded anything
		}
		hole := first.Begins.Sub(s.Begins) > flightrecorder.SegmentAge+maxAway
		if !first.Begins.After(from) || s.Begins.After(first.Begins) || hole || size > maxResumedSize || err != nil || !h.matches(newest.scope) {
			break
		}
		first = s
	}
	return first
}

func headOf(s flightrecorder.Segment) (h head, err error) {
	text, err := s.Head()
	if err != nil || len(text) == 0 {
		return h, err //nolint:wrapcheck // the error contains the path
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("read the head of the recording that begins at %s: %w", s.Begins.UTC().Format(time.RFC3339), err)
	}
	return h, nil
}
