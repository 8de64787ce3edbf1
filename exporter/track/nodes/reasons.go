package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// maxReason and maxMessage are the maximum numbers of characters of a reason and a message. Longer ones are cut.
	maxReason, maxMessage = 60, 400
	// maxProblems is the maximum number of conditions that are reported in one period of not Ready.
	maxProblems = 10
	// problemBefore is the longest time before a period in which a condition can have turned True to belong to the
	// period. For example, the eviction of pods follows DiskPressure before the container runtime fails.
	problemBefore = 10 * time.Minute
)

// reasons holds what the conditions of a node say while it is not Ready.
type reasons struct {
	// `since` is the lastTransitionTime with which the period began. `says` holds the kubelet's newest words.
	since event.NodeTime
	says  event.Words
	// `problems` holds the types of the conditions that were reported.
	problems []string
}

// noteReason records what the kubelet says about Ready=False. It returns whether that is new.
func (c *condition) noteReason(o *event.Node) (another bool) {
	if o.Ready == nil || o.Ready.Status == event.StatusTrue {
		c.reasons = nil
		return false
	}
	if c.reasons == nil {
		c.reasons = &reasons{since: event.NodeTime(o.Ready.LastTransitionTime)}
	}
	says := wordsOf(o.Ready.Reason, o.Ready.Message)
	if o.Ready.Status != event.StatusFalse || says == c.reasons.says {
		return false
	}
	c.reasons.says = says
	return says != event.Words{}
}

// reportReasons reports the newest words of the kubelet if they are `another` reason, and the conditions that turned
// True.
func (x *health) reportReasons(n *node, t time.Time, o *event.Node, another bool) {
	if another {
		x.found.Add(transition.NotReadyReason{OfNode: n.at(t), Says: n.reasons.says})
	}
	if n.reasons == nil {
		return
	}
	for _, p := range o.Problems {
		since, condition := event.NodeTime(p.LastTransitionTime), clip(p.Type, maxReason)
		before := time.Duration(0) // how long before the period it turned True
		if !since.IsZero() && !n.reasons.since.IsZero() {
			before = max(n.reasons.since.Sub(since), 0)
		}
		if before > problemBefore || len(n.reasons.problems) == maxProblems || slices.Contains(n.reasons.problems, condition) {
			continue
		}
		n.reasons.problems = append(n.reasons.problems, condition)
		turned := t
		if before > 0 && n.sinceSeen {
			turned = n.statusSince.Add(-before)
		}
		x.found.Add(transition.NodeProblem{OfNode: n.foundAt(turned, t), Condition: condition, Says: wordsOf(p.Reason, p.Message)})
	}
}

func wordsOf(reason, message string) event.Words {
	return event.Words{Reason: clip(reason, maxReason), Message: clip(message, maxMessage)}
}

// clip copies a text, and cuts it if it is too long.
func clip(text string, length int) string {
	runes := []rune(text)
	if len(runes) <= length {
		return string(runes)
	}
	return string(runes[:length-1]) + "…"
}
