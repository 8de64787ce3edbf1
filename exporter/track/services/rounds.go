package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// roundWithin is the time within which the replacement of pods explains at most one loss for each of a Service's
// addresses.
const roundWithin = 10 * time.Minute

// replacement is a loss because of a pod that was deleted, evicted or completed. `of` is the number of the Service's ready
// addresses before.
type replacement struct {
	at    time.Time
	of    int
	owner string
}

// noteReplaced reports a Service whose pods are replaced again and again. It counts for each owner of pods, because each
// rollout of a Deployment replaces the pods of another ReplicaSet. Announced departures of nodes do not count.
func (q *facts) noteReplaced(l *loss) {
	s, c := l.service, &l.change
	if !c.Cause.EndsPod() || c.Announced != "" {
		return
	}
	s.replaced = append(s.replaced, replacement{c.Time, l.of, c.Pod.Owner})
	s.replaced = slices.DeleteFunc(s.replaced, func(x replacement) bool { return c.Time.Sub(x.at) > roundWithin })
	losses, most := 0, 0
	for _, x := range s.replaced {
		if x.owner == c.Pod.Owner {
			losses, most = losses+1, max(most, x.of)
		}
	}
	if losses > most {
		q.report(s, transition.PodsReplacedAgain{At: c.At, Address: c.Address, Cause: c.Cause, Losses: losses, Of: most})
	}
}
