package verdict

import (
	"fmt"
)

func planned(f *NodeLoss) (Answer, string) {
	n := f.each(func(s *Silence) bool { return s.Announced != "" })
	switch {
	case n == 0:
		return No, "nothing announced the departure of " + nodesText(f.Silences)
	case n < len(f.Silences):
		return No, fmt.Sprintf("only %d of %d departures were announced", n, len(f.Silences))
	}
	return Yes, fmt.Sprintf("%s: announced by %s before the silence", nodesText(f.Silences), f.Silences[0].Announced)
}
