package pods

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// why returns what the API says about a loss with this cause. It returns nothing if a recording does not contain it.
func (c *lossEvidence) why(is cause.Cause) string {
	switch {
	case is == cause.PodEvicted:
		return evictionText(c.now)
	case is == cause.ContainerExit, is == cause.PodCompleted:
		return c.exitText()
	case is == cause.ProbeFailed:
		return probeText(c.now)
	case is == cause.ReadinessGate && len(c.now.GatesNotReady) > 0:
		return gateText(c.now)
	case is == cause.Unknown && c.now.Ready != nil:
		return event.Words{Reason: c.now.Ready.Reason, Message: c.now.Ready.Message}.String()
	}
	return ""
}

// exitText describes the exits of the containers that have just ended. If the pod ends with them, it begins with the reason
// that the kubelet gives.
func (c *lossEvidence) exitText() string {
	var all []string
	if c.now.Reason != "" {
		all = append(all, evictionText(c.now))
	}
	for i := range c.now.Containers {
		x := &c.now.Containers[i]
		exit := x.Exit()
		switch {
		case exit == "" || !c.ended(i) && !c.settles(*x):
			continue
		case x.State == "terminated" && (c.now.Phase == "Failed" || c.reason() == "PodFailed"):
			exit += ", not restarted"
		}
		all = append(all, "container "+x.Name+": "+exit)
	}
	return strings.Join(all, "; ")
}

// probeText names the probes of the containers that run and are not ready. A container that has passed its startup probe
// is not ready because of its readiness probe.
func probeText(o *event.Pod) string {
	var all []string
	for i := range o.Containers {
		switch c := &o.Containers[i]; {
		case c.Ready || c.State != "running":
		case c.Starting:
			all = append(all, "startup probe of container "+c.Name)
		default:
			all = append(all, "readiness probe of container "+c.Name)
		}
	}
	return strings.Join(all, "; ")
}

// evictionText returns the reason and the message of an eviction. The kubelet writes them to the pod's status, and the
// condition DisruptionTarget says less. All others write only this condition.
func evictionText(o *event.Pod) string {
	w := event.Words{Reason: o.Disruption, Message: o.DisruptionMessage}
	if o.Reason != "" {
		w = event.Words{Reason: o.Reason, Message: o.Message}
	}
	return strings.TrimSuffix(strings.TrimSpace(w.String()), ".")
}

// Why returns what the API says about the pod's removal, or about the loss of readiness that explains a write to its
// address (see LossBefore), if that has the given cause.
func (x *store) Why(p *Pod, is cause.Cause, version uint64, t time.Time) string {
	if because := x.was(p).removedBecause; p.RemovalCause == is && because != "" {
		return because
	}
	if w := x.LossBefore(p, version, t); w != nil && w.Cause == is {
		return w.why()
	}
	return ""
}

// why returns what the API says about the loss. It says nothing about the causes that only the node shows.
func (w *ReadinessLoss) why() string {
	if w.Cause != w.tentative {
		return ""
	}
	return w.because
}

// reconsider checks whether the new status of a pod that was not Ready explains the loss better. If a container exits
// after a probe failed, the exit explains both: the kubelet kills containers whose liveness probe fails, and a container
// that exits slowly fails its readiness probe before. An exit because of a deletion or an update explains nothing. The
// kubelet can report the reason of an eviction after the pod has stopped being Ready (see mergePodStatus in
// pkg/kubelet/status).
func (x *Pods) reconsider(p *Pod, o *event.Pod, t time.Time) {
	w := x.was(p).loss
	if w == nil || !w.Recovered.IsZero() {
		return
	}
	c := x.evidence(p, o, t)
	leaves := p.RemovalCause != cause.Unknown && p.RemovalCause != cause.ContainerExit
	switch {
	case w.Cause == cause.ProbeFailed && endsNow(c) && !leaves && !evicted(c) && !updatedInPlace(c):
		w.tentative = cause.ContainerExit
		x.explain(w, c.exitText(), t)
	case w.Cause == cause.PodEvicted && w.because == "":
		if why := evictionText(o); why != "" {
			x.explain(w, why, t)
		}
	}
}

// explain changes the explanation of a loss. It reports the change, unless the loss has not been reported yet.
func (x *Pods) explain(w *ReadinessLoss, why string, t time.Time) {
	switch before := w.because; {
	case before == "":
		w.because = Quote(why)
	case why != "":
		w.because = Quote(before + ", then " + why)
	}
	if w.Undecided {
		x.resolveAllOf(w.Pod)
		return
	}
	w.Cause = w.tentative
	x.found.Add(transition.PodLossExplained{At: transition.At{Time: t}, Pod: x.named(w.Pod), Cause: w.Cause, Why: Quote(why)})
}
