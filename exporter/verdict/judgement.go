package verdict

import "slices"

// Judgement is what was decided about an incident. All its silences point to it, so each of them follows when the verdict is revised.
type Judgement struct {
	// reviewed is the verdict at the last review, asked the one at the time of a question.
	reviewed, asked Verdict
	// into is that of the incident which this one turned out to be part of.
	into *Judgement
}

// Judged is a judgement that no incident revises.
func Judged(v Verdict) *Judgement { return &Judgement{reviewed: v, asked: v} }

// Revise notes what a review has decided.
func (j *Judgement) Revise(v Verdict) { j.reviewed, j.asked = v, v }

// Ask notes what is decided at the time of a question. That changes nothing for good: it must not matter when somebody asks.
func (j *Judgement) Ask(v Verdict) { j.asked = v }

// Merge notes that the incident turned out to be part of another one.
func (j *Judgement) Merge(into *Judgement) { j.into = into }

// Verdict is what is decided at the time of the question.
func (j *Judgement) Verdict() Verdict { return j.root().asked }

// Reviewed is what was decided at the last review.
func (j *Judgement) Reviewed() Verdict { return j.root().reviewed }

func (j *Judgement) root() *Judgement {
	for j.into != nil {
		j = j.into
	}
	return j
}

// Reason says more about a silence than the verdict about its incident. The set is closed.
type Reason uint8

// The reasons.
const (
	// NoReason: the verdict says all.
	NoReason Reason = iota
	// Late: the heartbeat came within the grace period. That is no incident.
	Late
	// Slow: by the verdict it is the node, which came back within the longest grace period to recommend.
	Slow
	// Down: by the verdict it is the node, which was silent for longer than that.
	Down
	// Announced, Rebooted: other silences of the same incident are the node's fault, but this one was announced, or ended with a reboot.
	Announced
	Rebooted
	// Upgraded: by the verdict it is the node, because its kubelet was replaced by another version meanwhile.
	Upgraded
	// ClockSetBack: by the verdict it is the node, because its clock was set back.
	ClockSetBack
	// ReasonCount is the number of reasons, for arrays indexed by Reason.
	ReasonCount
)

var reasonTexts = [ReasonCount]string{NoReason: "", Late: "late", Slow: "slow", Down: "down", Announced: "announced", Rebooted: "rebooted", Upgraded: "upgraded", ClockSetBack: "clock_set_back"}

// String is the value of the label `reason`.
func (r Reason) String() string { return reasonTexts[r] }

// ParseReason converts the value of the label `reason`. A later kubeflap may have others.
func ParseReason(s string) (r Reason, ok bool) {
	i := slices.Index(reasonTexts[:], s)
	return Reason(max(i, 0)), i >= 0
}
