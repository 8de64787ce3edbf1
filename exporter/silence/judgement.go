package silence

import "github.com/kubeflap/kubeflap/exporter/verdict"

// Judgement is the decision about an incident. All silences of the incident share one Judgement, so a revision applies
// to all of them.
type Judgement struct {
	// The field verdict is the verdict at the last review of the incident. It does not depend on queries.
	verdict verdict.Verdict
	// The field `into` is the Judgement of the incident into which this incident was merged, or nil.
	into *Judgement
}

// NewJudgement returns a judgement for a silence without an incident.
func NewJudgement(v verdict.Verdict) *Judgement { return &Judgement{verdict: v} }

// MarshalText returns the verdict.
func (j *Judgement) MarshalText() ([]byte, error) { return j.Verdict().MarshalText() }

// UnmarshalText parses a verdict. The judgement is then final.
func (j *Judgement) UnmarshalText(text []byte) error {
	v, _ := verdict.Parse(string(text))
	j.Revise(v)
	return nil
}

// Revise records the result of a review.
func (j *Judgement) Revise(v verdict.Verdict) { j.verdict = v }

// Merge records that the incident was merged into another incident.
func (j *Judgement) Merge(into *Judgement) { j.into = into }

// Verdict returns the verdict at the last review.
func (j *Judgement) Verdict() verdict.Verdict {
	for j.into != nil {
		j = j.into
	}
	return j.verdict
}
