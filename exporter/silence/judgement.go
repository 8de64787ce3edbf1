package silence

import "github.com/kubeflap/kubeflap/exporter/verdict"

// Judgement is the decision about an incident. All silences of the incident share one Judgement, so a revision applies
// to all of them.
type Judgement struct {
	// The field reviewed is the verdict at the last review of the incident. The field asked is the verdict at the last
	// query or review, whichever was later.
	reviewed, asked verdict.Verdict
	// The field `into` is the Judgement of the incident into which this incident was merged, or nil.
	into *Judgement
}

// NewJudgement returns a judgement for a silence without an incident.
func NewJudgement(v verdict.Verdict) *Judgement { return &Judgement{reviewed: v, asked: v} }

// MarshalText returns the verdict at the last review.
func (j *Judgement) MarshalText() ([]byte, error) { return j.Reviewed().MarshalText() }

// UnmarshalText parses a verdict. The judgement is then final.
func (j *Judgement) UnmarshalText(text []byte) error {
	v, _ := verdict.Parse(string(text))
	j.Revise(v)
	return nil
}

// Revise records the result of a review.
func (j *Judgement) Revise(v verdict.Verdict) { j.reviewed, j.asked = v, v }

// Ask records the verdict at the time of a query. It does not change the result of Reviewed, which must not depend on
// queries.
func (j *Judgement) Ask(v verdict.Verdict) { j.asked = v }

// Merge records that the incident was merged into another incident.
func (j *Judgement) Merge(into *Judgement) { j.into = into }

// Verdict returns the verdict at the last query or review, whichever was later.
func (j *Judgement) Verdict() verdict.Verdict { return j.root().asked }

// Reviewed returns the verdict at the last review.
func (j *Judgement) Reviewed() verdict.Verdict { return j.root().reviewed }

func (j *Judgement) root() *Judgement {
	for j.into != nil {
		j = j.into
	}
	return j
}
