package whatif

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// Predict returns the predictions for the settings. Call Finish first.
func (s *Study) Predict(settings []Settings) answer.Answer {
	recorded, certain := s.Recorded()
	a := answer.Answer{From: s.begin, To: s.end, Nodes: s.zones.total(), Settings: []answer.Row{}, CannotSay: []string{}, Recorded: s.recordedCounts(recorded, certain), Check: s.check(recorded)}
	if a.NoPrediction = s.noPrediction(); a.NoPrediction != "" {
		return a
	}
	for _, x := range settings {
		row := s.row(x)
		row.Recorded = recorded.GracePeriod == x.GracePeriod && recorded.MonitorPeriod == x.MonitorPeriod && x.Toleration == AsRecorded
		row.Assumed = row.Recorded && !certain
		if row.Recorded && certain {
			s.record(&row, x)
		}
		a.Settings = append(a.Settings, row)
	}
	answer.MarkKnee(a.Settings)
	a.CannotSay = s.cannotSay(certain)
	if slices.ContainsFunc(a.Settings, func(r answer.Row) bool { return r.Evictions.AtMost > 0 }) {
		a.CannotSay = append(a.CannotSay, s.replacements())
	}
	return a
}

// replacements returns text about when the replacement of an evicted pod is assumed to be ready.
func (s *Study) replacements() string {
	text := "When another pod would be ready in the place of an evicted one. The ranges begin with the eviction and end "
	if s.pods.replacementTakes == 0 {
		return text + "with the node's return."
	}
	return text + phrase.Duration(s.pods.replacementTakes) + " later, which is the longest time in the recording."
}

// noPrediction returns the reason why there is no prediction at all, or an empty string.
func (s *Study) noPrediction() string {
	switch length := s.end.Sub(s.begin); {
	case s.zones.count() == 0:
		return "the recording has no heartbeats of nodes"
	case length < usualInterval:
		return "the recording is too short: it covers " + phrase.Duration(length) + ", and nodes send heartbeats every 10s"
	}
	return ""
}

// PredictUsual returns the predictions for the settings that Usual returns. It needs a Study from NewUsual. Call Finish
// first.
func (s *Study) PredictUsual() answer.Answer {
	recorded, _ := s.Recorded()
	return s.Predict(Usual(recorded, s.pods.evicted > 0))
}

func (s *Study) recordedCounts(x Settings, certain bool) answer.Recorded {
	c := s.sweep(nil, nil, false, true)
	r := answer.Recorded{
		GracePeriodSeconds: x.GracePeriod.Seconds(), MonitorPeriodSeconds: x.MonitorPeriod.Seconds(), Certain: certain,
		AddressesLost: c.losses, Outages: c.outages, OutageSeconds: seconds(c.outage), Evictions: s.pods.evicted,
	}
	if manager := s.grace.ManagersPeriod(); manager != x.GracePeriod {
		r.ManagerGracePeriodSeconds = manager.Seconds()
	}
	for _, x := range s.silences {
		if !x.marked.IsZero() {
			r.NodesUnknown++
		}
		if !x.back.IsZero() {
			r.NodesBack++
		}
	}
	return r
}

// check compares the model with the recording. It returns nil if the recorded grace period is unknown or too short for
// a comparison.
func (s *Study) check(recorded Settings) *answer.Check {
	if recorded.GracePeriod == 0 || earliestOf(recorded) < s.least {
		return nil
	}
	c := &answer.Check{}
	for _, x := range s.silences {
		if x.hasUnknownLength() {
			continue // the prediction would only repeat the recorded result
		}
		switch p := s.predictOne(x, recorded, recorded); {
		case p.outcome == answer.TooClose:
			c.TooClose++
		case p.outcome == answer.Untold:
			c.Unknown++
		case (p.outcome == answer.Yes) == !x.marked.IsZero():
			c.Right++
		default:
			c.Wrong++
		}
	}
	return c
}

func (s *Study) row(x Settings) answer.Row {
	marks := s.predict(x)
	evicted := s.evictor(x).evict(marks)
	low, high := s.sweep(marks, evicted.best, false, false), s.sweep(marks, evicted.worst, true, false)
	without, with := s.withoutFailed(marks, evicted, low, high)
	window := slices.Index(windows(), x.Window)
	row := answer.Row{
		GracePeriodSeconds: x.GracePeriod.Seconds(), MonitorPeriodSeconds: x.MonitorPeriod.Seconds(), WindowSeconds: x.Window.Seconds(),
		AddressesLost:         between(low.losses, high.losses),
		NeedlessLosses:        between(low.needless, high.needless),
		Outages:               between(low.outages, high.outages),
		OutageSeconds:         answer.Between(seconds(low.outage), seconds(high.outage)),
		NeedlessOutageSeconds: answer.Between(seconds(without.outage), seconds(with.outage)),
		ClientUpdates:         between(low.updates[window], high.updates[window]),
		ClientBounces:         between(low.bounces[window], high.bounces[window]),
		NeedlessBounces:       between(without.bounces[window], with.bounces[window]),
		TrafficSeconds:        answer.Between(seconds(low.traffic), seconds(high.traffic)),
	}
	row.Evictions, row.NeedlessEvictions = evicted.all, evicted.needless
	if x.Toleration != AsRecorded {
		toleration := x.Toleration.Seconds()
		row.TolerationSeconds = &toleration
	}
	for _, m := range marks {
		add(&row, m)
	}
	return row
}

// evictor returns the model of the taint eviction controller for the given settings.
func (s *Study) evictor(x Settings) *evictor {
	return &evictor{
		settings: x, pods: s.pods.byNode(), replacementTakes: s.pods.replacementTakes,
		tainter: tainter{period: x.MonitorPeriod, begin: s.begin, end: s.end, limits: limitsOf(s.grace.Flags(nil)), zones: s.zones},
	}
}

// withoutFailed returns the lower and the upper bounds of the counts, without the effects of failed nodes.
func (s *Study) withoutFailed(marks []mark, evicted evictions, low, high counts) (without, with counts) {
	failed := func(m mark) bool { return m.silence.failed }
	if !slices.ContainsFunc(marks, failed) {
		return low, high
	}
	needless := func(all []eviction) []eviction {
		return slices.DeleteFunc(slices.Clone(all), func(e eviction) bool { return e.mark.silence.failed })
	}
	marks = slices.DeleteFunc(slices.Clone(marks), failed)
	return s.sweep(marks, needless(evicted.best), false, false), s.sweep(marks, needless(evicted.worst), true, false)
}

// between returns the range between two counts, which can be in any order.
func between[T int | uint64](a, b T) answer.Range { return answer.Between(float64(a), float64(b)) }

// record replaces predictions for the recorded settings with the recorded results.
func (s *Study) record(row *answer.Row, x Settings) {
	c, window := s.sweep(nil, nil, false, true), slices.Index(windows(), x.Window)
	row.AddressesLost, row.Outages, row.OutageSeconds = between(c.losses, c.losses), between(c.outages, c.outages), answer.Between(seconds(c.outage), seconds(c.outage))
	row.ClientUpdates, row.ClientBounces = between(c.updates[window], c.updates[window]), between(c.bounces[window], c.bounces[window])
	row.Evictions, row.NeedlessEvictions = between(s.pods.evicted, s.pods.evicted), between(s.pods.evictedNeedlessly, s.pods.evictedNeedlessly)
}

func windows() []time.Duration {
	all := consumers.Windows()
	return all[:]
}

// add adds the prediction for one silence to a row.
func add(r *answer.Row, m mark) {
	r.Transitions = append(r.Transitions, m.transition())
	one := answer.Of(m.outcome)
	switch m.outcome {
	case answer.No:
		return
	case answer.Untold:
		r.Unknown++
		one = answer.Of(answer.TooClose)
		if !m.in(true) {
			return
		}
	case answer.TooClose:
		r.TooClose++
	case answer.Yes:
		if m.silence.failed {
			r.FailuresFound++
			r.FoundAfterSeconds = max(r.FoundAfterSeconds, seconds(m.latest.Sub(m.silence.from)))
		}
	}
	r.NodesUnknown.Add(one)
	if !m.silence.failed {
		r.Needless.Add(one)
	}
	if m.silence.end == endHeartbeat {
		r.NodesBack.Add(one)
	}
}

// seconds converts a duration to seconds, rounded to tenths.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// cannotSay lists the questions that the recording cannot answer.
func (s *Study) cannotSay(certain bool) []string {
	all := []string{
		"Another load or pod placement: the addresses are replayed as recorded.",
		"Other probe thresholds: the recording contains the resulting readiness, not each probe.",
	}
	if !certain {
		all = append(all, "The exact grace period during the recording. To specify it, set "+s.toSpecify+".")
	}
	if recorded, _ := s.Recorded(); recorded.GracePeriod > 0 && earliestOf(recorded) < s.least {
		all = append(all, "The recorded grace period of "+phrase.Duration(recorded.GracePeriod)+": it is as short as usual heartbeat intervals.")
	}
	var began, ended, blind, leader, quiet int
	stayed := map[string]bool{}
	for _, x := range s.silences {
		if x.hasUnknownLength() {
			stayed[x.node] = true
			continue
		}
		began += count(x.unsure)
		ended += count(x.end == endOpen && !x.failed)
		blind += count(x.shortest < x.longest)
		leader += count(x.newLeader)
		quiet += count(overlaps(s.quiet, x.from.Add(usualInterval), x.to))
	}
	for _, x := range []struct {
		n    int
		text string
	}{
		{began, "Silences that began before the recording"},
		{s.services.outagesBefore, "Outages that began before the recording"},
		{ended, "Silences that were ongoing when the recording ended"},
		{blind, "Silences that began or ended while kubeflap's watch was broken"},
		{quiet, "Silences of all nodes at once, during which the node controller may have been unable to act"},
		{leader, "Silences during which the kube-controller-manager's leader changed"},
	} {
		if x.n > 0 {
			all = append(all, x.text+": "+strconv.Itoa(x.n)+".")
		}
	}
	if n := len(stayed); n > 0 {
		all = append(all, "Shorter grace periods than the recorded one, for nodes that stayed Ready in a gap: "+strconv.Itoa(n)+".")
	}
	return all
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
