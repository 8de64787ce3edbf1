package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// mark is a predicted interval in which a node is Unknown. The field back is the time at which the node and its pods
// are Ready again. The node itself becomes Ready between readyFrom and readyBy. The kubelet reports the node's pods as
// Ready up to 10 s later. back, readyFrom and readyBy are zero if the node is still Unknown at the end of the
// recording.
type mark struct {
	silence              *silence
	outcome              answer.Outcome
	because              string
	earliest, at, latest time.Time
	back                 time.Time
	readyFrom, readyBy   time.Time
}

// The method `in` reports whether the mark counts. Marks with the outcome Yes count. If unsure is set, marks with the
// outcome TooClose also count, and so do marks with the outcome Untold, unless the node was already Unknown before.
func (m mark) in(unsure bool) bool {
	return m.outcome == answer.Yes || unsure && (m.outcome == answer.TooClose || m.outcome == answer.Untold && !m.silence.wasUnknown)
}

// predict returns one prediction per silence, in the order of s.silences.
func (s *Study) predict(x Settings) []mark {
	recorded, certain := s.Recorded()
	isRecorded := certain && recorded.GracePeriod == x.GracePeriod && recorded.MonitorPeriod == x.MonitorPeriod
	usual := s.usualReturn()
	var all []mark
	for _, silent := range s.silences {
		m := s.predictOne(silent, x, recorded)
		if m.outcome != answer.Untold && !silent.marked.IsZero() && silent.marked.Before(silent.from.Add(earliestOf(recorded))) && !silent.unsure {
			m.outcome, m.because = answer.Untold, tooEarly(certain)
		}
		if m.outcome == answer.Untold {
			m.at = m.earliest
			if !m.at.Before(silent.to) {
				m.at = silent.from
			}
		}
		if certain {
			m.bound(x, recorded)
		}
		if isRecorded && !silent.wasUnknown && (!silent.blind || silent.stayed || !silent.marked.IsZero()) {
			m.fact()
		}
		m.back = silent.returned(usual)
		m.readyFrom, m.readyBy = silent.nodeReturned(isRecorded)
		all = append(all, m)
	}
	return all
}

// bound derives the outcome from the recorded outcome if both settings have the same monitor period. If a node became
// Unknown in the recording, it also becomes Unknown with a shorter grace period. If a node did not become Unknown in
// the recording, it does not become Unknown with a longer grace period either.
func (m *mark) bound(x, recorded Settings) {
	silent := m.silence
	if x.MonitorPeriod != recorded.MonitorPeriod || silent.wasUnknown || silent.unsure {
		return
	}
	soon := silent.marked.Before(silent.from.Add(earliestOf(recorded)))
	switch {
	case silent.marked.IsZero() && x.GracePeriod >= recorded.GracePeriod && (!silent.blind || silent.stayed):
		m.outcome, m.because = answer.No, ""
	case !silent.marked.IsZero() && !soon && x.GracePeriod <= recorded.GracePeriod && m.outcome != answer.Yes:
		m.outcome, m.because, m.at, m.latest = answer.Yes, "", silent.marked, silent.marked
	}
}

// tooEarly returns the reason why there is no prediction for a node that became Unknown before the end of the recorded
// grace period.
func tooEarly(certain bool) string {
	if certain {
		return "the recorded controller did not wait for its own grace period"
	}
	return "the recorded controller was faster than the assumed grace period allows"
}

// predictOne predicts the outcome of one silence.
func (s *Study) predictOne(silent *silence, x, recorded Settings) mark {
	m := silent.predict(x)
	if silent.survives(recorded, x) {
		m.outcome, m.because = answer.No, ""
		return m
	}
	if m.outcome == answer.Yes || m.outcome == answer.TooClose {
		s.doubt(&m, x)
	}
	return m
}

// doubt checks whether the controller was able to act at the predicted time. During the intervals in s.quiet and
// s.dark, the controller may have restarted, and a restarted controller waits for a full grace period. If the predicted
// time is in such an interval, the prediction is certain only if the silence lasts for another grace period after the
// interval.
func (s *Study) doubt(m *mark, x Settings) {
	stopped := slices.Concat(s.quiet, s.dark)
	until := m.latest
	if until.After(m.silence.to) {
		until = m.silence.to
	}
	end := time.Time{}
	for _, q := range stopped {
		if overlaps([]interval{q}, m.earliest, until) && q.to.After(end) {
			end = q.to
		}
	}
	if end.IsZero() {
		return
	}
	_, delay := x.delay()
	if by := end.Add(delay); m.outcome == answer.Yes && m.silence.to.After(by) && !overlaps(stopped, end, by) {
		m.latest = by
		return
	}
	m.outcome, m.because = answer.Untold, "no node renewed its Lease, so the controller may have been cut off as well"
	if !overlaps(s.quiet, m.earliest, until) {
		m.because = "the watch was broken when the controller would have acted, so it is unknown whether the controller worked"
	}
}

func earliestOf(x Settings) time.Duration {
	earliest, _ := x.delay()
	return earliest
}

// predict compares the length of the silence with the delay of the controller.
func (x *silence) predict(settings Settings) mark {
	earliest, latest := settings.delay()
	m := mark{silence: x, earliest: x.from.Add(earliest), latest: x.from.Add(latest)}
	m.at = m.latest.Add(-(settings.MonitorPeriod / 2))
	switch {
	case x.wasUnknown:
		m.outcome, m.because = answer.Untold, "the node was already Unknown"
	case x.unsure:
		m.outcome, m.because = answer.Untold, "the recording begins during the silence"
	case x.longest < earliest && x.end == endOpen && x.longest > usualInterval:
		m.outcome, m.because = answer.Untold, "the recording ends during the silence"
	case x.longest < earliest:
		m.outcome = answer.No
	case x.newLeader:
		m.outcome, m.because = answer.Untold, "the kube-controller-manager had a new leader, which restarted the grace period"
	case x.shortest > latest:
		m.outcome = answer.Yes
	case x.shortest < x.longest:
		m.outcome, m.because = answer.Untold, "the watch was broken when the silence began or ended"
	case x.end == endOpen:
		m.outcome, m.because = answer.Untold, "the recording ends during the silence"
	default:
		m.outcome = answer.TooClose
		m.at = m.earliest.Add(x.to.Sub(m.earliest) / 2)
	}
	return m
}

// fact replaces the prediction with the recorded outcome. The prediction must be for the recorded settings.
func (m *mark) fact() {
	if t := m.silence.marked; !t.IsZero() {
		m.outcome, m.because, m.earliest, m.at, m.latest = answer.Yes, "", t, t, t
		return
	}
	m.outcome, m.because = answer.No, ""
}

// returned returns the time at which the node and its pods are Ready again after the node became Unknown. The result is
// zero if the silence lasts until the end of the recording. If the recording does not show this time, returned adds
// usual to the end of the silence.
func (x *silence) returned(usual time.Duration) time.Time {
	switch {
	case x.end == endOpen:
		return time.Time{}
	case x.end == endDeleted:
		return x.to
	case !x.podsBack.IsZero() && x.podsBack.After(x.to):
		return x.podsBack
	case !x.back.IsZero():
		return x.back
	}
	return x.to.Add(usual)
}

// usualReturn returns the median time from the end of a silence until the node and its pods are Ready. If no node
// returned from Unknown in the recording, the result is 5 s, which is half of the kubelet's status interval.
func (s *Study) usualReturn() time.Duration {
	var all []time.Duration
	for _, x := range s.silences {
		if x.end == endHeartbeat && !x.back.IsZero() {
			all = append(all, x.returned(0).Sub(x.to))
		}
	}
	if len(all) == 0 {
		return 5 * time.Second
	}
	slices.Sort(all)
	return max(all[len(all)/2], 0)
}

// statusInterval is the longest time between two status updates of a kubelet. It is the sum of
// nodeStatusUpdateFrequency (10 s), 4 % jitter, and the duration of an update.
const statusInterval = 10500 * time.Millisecond

// nodeReturned returns the earliest and the latest possible time at which the node is Ready again after it became
// Unknown. Both times are zero if the recording ends during the silence. After a silence, the kubelet corrects the
// status at once if its cache already shows the status Unknown. Otherwise, it corrects the status one status interval
// later (kubelet, tryUpdateNodeStatus). The recorded time is therefore used only for the recorded settings.
func (x *silence) nodeReturned(isRecorded bool) (from, by time.Time) {
	switch {
	case x.end == endOpen:
		return time.Time{}, time.Time{}
	case x.end == endDeleted:
		return x.to, x.to
	case isRecorded && !x.back.IsZero():
		return x.back, x.back
	}
	return x.to, x.to.Add(statusInterval)
}

func (m mark) transition() answer.Transition {
	x := m.silence
	t := answer.Transition{
		Node: x.node, LastHeartbeat: x.from, SilenceSeconds: x.to.Sub(x.from).Seconds(), Open: x.end == endOpen,
		Failed: x.failed, Recorded: !x.marked.IsZero(), Predicted: m.outcome, Because: m.because,
	}
	if m.outcome == answer.Yes || m.outcome == answer.TooClose {
		t.Earliest, t.Latest = m.earliest, m.latest
	}
	return t
}
