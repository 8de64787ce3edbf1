package verdict

import "slices"

// Judgement is the decision about an incident. All silences of the incident share one Judgement, so a revision applies
// to all of them.
type Judgement struct {
	// The field reviewed is the verdict at the last review of the incident. The field asked is the verdict at the last
	// query or review, whichever was later.
	reviewed, asked Verdict
	// The field `into` is the Judgement of the incident into which this incident was merged, or nil.
	into *Judgement
}

// NewJudgement returns a judgement for a silence without an incident.
func NewJudgement(v Verdict) *Judgement { return &Judgement{reviewed: v, asked: v} }

// MarshalText returns the verdict at the last review.
func (j *Judgement) MarshalText() ([]byte, error) { return j.Reviewed().MarshalText() }

// UnmarshalText parses a verdict. The judgement is then final.
func (j *Judgement) UnmarshalText(text []byte) error {
	v, _ := Parse(string(text))
	j.Revise(v)
	return nil
}

// Revise records the result of a review.
func (j *Judgement) Revise(v Verdict) { j.reviewed, j.asked = v, v }

// Ask records the verdict at the time of a query. It does not change the result of Reviewed, which must not depend on
// queries.
func (j *Judgement) Ask(v Verdict) { j.asked = v }

// Merge records that the incident was merged into another incident.
func (j *Judgement) Merge(into *Judgement) { j.into = into }

// Verdict returns the verdict at the last query or review, whichever was later.
func (j *Judgement) Verdict() Verdict { return j.root().asked }

// Reviewed returns the verdict at the last review.
func (j *Judgement) Reviewed() Verdict { return j.root().reviewed }

func (j *Judgement) root() *Judgement {
	for j.into != nil {
		j = j.into
	}
	return j
}

// Reason adds details about a single silence to the verdict of its incident. The set of reasons is fixed.
type Reason uint8

// The reasons.
const (
	// NoReason means that nothing needs to be added to the verdict.
	NoReason Reason = iota
	// Late means that the next heartbeat arrived within the grace period. Such a silence has no incident.
	Late
	// Slow means that the node is at fault, but was silent for at most advice.LongestGrace, the longest recommended
	// grace period.
	Slow
	// Down means that the node is at fault and was silent for longer than advice.LongestGrace.
	Down
	// Announced means that the node's departure was announced. Rebooted means that the silence ended with a reboot. In
	// both cases, the incident's verdict is Node because of other silences.
	Announced
	Rebooted
	// Upgraded means that the node fell silent because its kubelet was replaced by a different version.
	Upgraded
	// ClockSetBack means that the node controller ignored the node's heartbeats because the node's clock was set back.
	ClockSetBack
	// ReasonCount is the number of reasons, for arrays indexed by Reason.
	ReasonCount
)

var reasonTexts = [ReasonCount]string{NoReason: "", Late: "late", Slow: "slow", Down: "down", Announced: "announced", Rebooted: "rebooted", Upgraded: "upgraded", ClockSetBack: "clock_set_back"}

// String returns the value of the `reason` label.
func (r Reason) String() string { return reasonTexts[r] }

// ParseReason returns the reason for a value of the `reason` label. ok is false for unknown values, which later
// versions of kubeflap may use.
func ParseReason(s string) (r Reason, ok bool) {
	i := slices.Index(reasonTexts[:], s)
	return Reason(max(i, 0)), i >= 0
}
