package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Waited is what a Service waited for in an outage, and for how long.
type Waited struct {
	Service transition.Service
	transition.Wait
	Lasted time.Duration
}

// Entry returns the evidence entry for w.
func (w Waited) Entry() Entry {
	return Entry{Kind: OutageWaited, Time: w.Since, Service: w.Service, Name: advice.Waiting{Namespace: w.Service.Namespace, Wait: w.Wait}.What(), Duration: w.Lasted}
}

// WaitEnded records that a Service no longer waits for w, and adds it to the evidence.
func (f *Facts) WaitEnded(w Waited) {
	f.Evidence.Add(w.Entry())
	if w.Lasted > f.waited.Lasted {
		f.waited = w
	}
}

// keepsGoing returns what keeps the longest of the ongoing outages going. ok is false if it is unknown.
func keepsGoing(x *Incident) (service string, w advice.Waiting, ok bool) {
	for _, s := range x.Services {
		if s.Down && s.wait.Kind != "" {
			return s.String(), advice.Waiting{Namespace: s.Namespace, Wait: s.wait}, true
		}
	}
	return "", w, false
}

// addWaitRemedy begins the remedy with the one for what keeps an outage going, or for what kept it going for more than half
// of its time.
func (f *Facts) addWaitRemedy(x *Incident) {
	_, is, ongoing := keepsGoing(x)
	waited := ""
	if w := f.waited; !ongoing {
		if e := f.effects.of[w.Service]; w.Kind == "" || e == nil || 2*phrase.Seconds(w.Lasted) < e.OutageTime || e.OutageTime == 0 {
			return
		}
		is = advice.Waiting{Namespace: w.Service.Namespace, Wait: w.Wait}
		waited = " For " + phrase.Duration(w.Lasted) + ", " + w.Service.Namespace + "/" + w.Service.Name + " waited for " + is.What() + "."
	}
	first := is.Remedy(ongoing) + waited
	if began := x.Remedy; f.IsAboutNodes() || !is.Began(f.affected()) {
		first += " What began the outage: " + began
	}
	x.Remedy = first
}
