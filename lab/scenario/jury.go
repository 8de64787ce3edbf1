package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
)

// defaultGrace is the default grace period before Kubernetes v1.32, in which the stories of the jury are told.
const defaultGrace = "--node-monitor-grace-period=40s"

// Fault is a fault of the jury (jury.md). Its scenario plays it in a cluster of its own.
type Fault struct {
	Scenario
	// Number is the number of the fault in jury.md.
	Number int
	// Want lists the incidents that kubeflap must report. If it is empty, kubeflap must report none.
	Want []Report
	// Took is the time from the fault until kubeflap has reported all of Want.
	Took time.Duration
	// Unsaid means that jury.md requires a verdict, but kubeflap reports no incident. The page says why.
	Unsaid bool

	nodes   int
	prepare func(*Lab)
	// play causes the fault and ends it.
	play func(*Lab, *Fault)
	// blinding means that the fault breaks the watches of all observers.
	blinding bool
	// began is the time of the fault.
	began time.Time
}

// Jury returns the faults of the jury whose components exist in the lab.
func Jury() []*Fault {
	all := slices.Concat(nodeFaults(), sharedFaults(), serviceFaults(), deploymentFaults())
	slices.SortFunc(all, func(a, b *Fault) int { return a.Number - b.Number })
	for _, f := range all {
		f.Name, f.Prepare, f.Run, f.Reports = fmt.Sprintf("jury-%d", f.Number), f.prepare, f.playOn, append([]Report{}, f.Want...)
		f.Options = cluster.Options{
			Release: cluster.Newest, Nodes: max(3, f.nodes), Proxied: true,
			ControllerManagerPod: true, ControllerManagerFlags: append(patientLeader(), defaultGrace, everySecond),
		}
		if f.prepare == nil {
			f.Prepare = func(l *Lab) { spreadReady(l, f.Options.Nodes) }
		}
		if f.blinding {
			f.Run, f.Blind, f.Reports = (*Lab).WaitForHeartbeats, f.playOn, nil
		}
	}
	return all
}

// playOn plays the fault, and waits until kubeflap has reported it.
func (f *Fault) playOn(l *Lab) {
	l.WaitForHeartbeats()
	f.begins()
	f.play(l, f)
	f.isSaid(l)
}

// begins says that the fault begins now, after the steps that lead to it.
func (f *Fault) begins() { f.began = time.Now() }

// isSaid waits until kubeflap has reported all of Want, with the given texts. It fails if kubeflap names another
// component in the meantime.
func (f *Fault) isSaid(l *Lab, texts ...string) {
	var wrong []compare.Incident
	l.Until("the verdict about the fault", func(l *Lab) {
		all := l.Incidents().Incidents
		wrong = append(wrong, slices.DeleteFunc(slices.Clone(all), f.mayBeSaid)...)
		for _, want := range f.Want {
			l.Expect(slices.ContainsFunc(all, want.Fits), "no incident %+v in %+v", want, all)
		}
		if len(f.Want) > 0 {
			f.Took = cmp.Or(f.Took, time.Since(f.began))
		}
		for _, text := range texts {
			l.Expect(strings.Contains(fmt.Sprintf("%+v", all), text), "no %q in %+v", text, all)
		}
	})
	l.Expect(len(wrong) == 0, "wrong incidents: %+v", wrong)
}

// mayBeSaid reports whether an incident has a verdict that kubeflap must report, or none yet.
func (f *Fault) mayBeSaid(x compare.Incident) bool {
	return x.Verdict == "undecided" || slices.ContainsFunc(f.Want, func(want Report) bool { return want.Verdict == x.Verdict })
}

// Verdict returns what kubeflap must say, in the words of jury.md.
func (f *Fault) Verdict() string {
	if len(f.Want) == 0 {
		return "nothing"
	}
	return "`" + f.Want[0].Verdict + "`"
}

// Fits reports whether kubeflap reports an incident as expected.
func (r Report) Fits(x compare.Incident) bool {
	return x.State != "pending" && x.Verdict == r.Verdict && x.Scope == r.Scope && x.Cause == r.Cause &&
		(r.Subject == "" || x.Subject == r.Subject) && strings.Contains(x.Because(), r.Because) && strings.Contains(x.Remedy, r.Remedy)
}
