package incident

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var verdictByCause = [cause.Count]struct {
	verdict verdict.Verdict
	because string
}{
	cause.ProbeFailed:    {verdict.Workload, "readiness probes failed while the containers ran"},
	cause.ContainerExit:  {verdict.Workload, "containers exited"},
	cause.ReadinessGate:  {verdict.Workload, "a readiness gate of the pods is not True"},
	cause.PodDeleted:     {verdict.Workload, "the pods were deleted, and no other became ready in time"},
	cause.PodEvicted:     {verdict.Workload, "the pods were evicted, and no other became ready in time"},
	cause.PodCompleted:   {verdict.Workload, "the containers completed and are not restarted"},
	cause.InPlaceUpdate:  {verdict.UpdateInPlace, "an image changed while the address was in rotation"},
	cause.EndpointsReset: {verdict.EndpointsController, "the endpoints controller overwrote the Endpoints, and the Service has a selector"},
	cause.ManualWrite:    {verdict.ForeignWriter, "a client other than the Kubernetes controllers wrote the addresses"},
	cause.ServiceChanged: {verdict.ServiceSpec, "the selector or publishNotReadyAddresses changed"},
}

// addressVerdicts lists the possible verdicts on a workload or a Service, in order of precedence.
var addressVerdicts = []verdict.Verdict{
	verdict.Planned, verdict.EndpointsController, verdict.ForeignWriter, verdict.ServiceSpec, verdict.UpdateInPlace, verdict.Workload, verdict.Node,
}

// areAll reports whether a number of lost addresses is all of them, and there are any.
func areAll(some, lost int) bool { return some > 0 && some == lost }

// Conclude returns the verdict on an incident of a workload or a Service, and the reason for it.
func (f *Facts) Conclude() (v verdict.Verdict, because string) {
	is := verdictByCause[f.Cause]
	switch {
	case areAll(f.withNode, f.Lost):
		return verdict.Undecided, "the pods were deleted with their Nodes"
	case f.Cause.OfNode():
		return verdict.Undecided, "the pods were lost with a node that kubeflap has not seen"
	case areAll(f.planned, f.Lost):
		return verdict.Planned, "the pods left nodes whose departure was announced by " + f.announcedBy
	case f.isRelabelled():
		return verdict.Workload, "the labels of the pods were changed, so that the selector of the Service does not match them"
	case f.Replaced != "" && f.Cause == cause.PodDeleted:
		return is.verdict, f.Replaced
	case f.Replaced != "":
		return is.verdict, is.because + "; " + f.Replaced
	case f.Cause == cause.Unknown && areAll(f.vanished, f.Lost):
		return is.verdict, "kubeflap was not watching"
	case f.Cause == cause.Unknown:
		return is.verdict, "no event explains the loss"
	case is.verdict == verdict.ForeignWriter && f.Who != "":
		return is.verdict, f.Who
	}
	return is.verdict, is.because
}

// Decide returns the decision about an incident of a workload or a Service.
func (f *Facts) Decide() (d verdict.Decision) {
	is, because := f.Conclude()
	switch {
	case areAll(f.withNode, f.Lost):
		// The API does not show whether the machines failed or were removed on purpose.
		because += ": " + phrase.Some(slices.Sorted(slices.Values(f.deleted)))
		return verdict.Decision{
			Command: "kubectl get events -A --field-selector involvedObject.kind=Node # the autoscaler's log or the cloud's activity log shows who removed the machines",
			Considered: []verdict.Considered{
				{Verdict: verdict.Node, Holds: verdict.Unknown, Because: because + ". The machines may have failed"},
				{Verdict: verdict.Planned, Holds: verdict.Unknown, Because: because + ". Somebody may have removed the machines without notice"},
				{Verdict: verdict.Workload, Holds: verdict.No, Because: because},
			},
		}
	case f.Cause.OfNode():
		return verdict.Decision{Command: "kubectl get nodes -o wide", Considered: []verdict.Considered{
			{Verdict: verdict.Node, Holds: verdict.Unknown, Because: because},
			{Verdict: verdict.Workload, Holds: verdict.No, Because: "the loss is a consequence of the state of the node"},
		}}
	}
	for _, v := range addressVerdicts {
		holds := verdict.No
		switch {
		case is == verdict.Undecided:
			holds = verdict.Unknown
		case v == is:
			holds = verdict.Yes
		}
		d.Considered = append(d.Considered, verdict.Considered{Verdict: v, Holds: holds, Because: because})
	}
	if d.Verdict = is; is == verdict.Undecided {
		d.Command = "kubectl get events -A --field-selector reason!=Pulled # kubectl get endpointslices -o yaml shows who last wrote each slice"
	}
	return d
}
