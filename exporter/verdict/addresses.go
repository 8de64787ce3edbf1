package verdict

import "github.com/kubeflap/kubeflap/exporter/cause"

// AddressLoss are the facts of an incident of a workload or a Service.
type AddressLoss struct {
	Cause cause.Cause
	// Writers are who writes the addresses beside those who should; empty if that was not seen.
	Writers string
	// Lost counts the lost addresses, Planned those whose nodes were announced to leave; AnnouncedBy says by what.
	Lost, Planned int
	AnnouncedBy   string
}

// ofCause is the verdict that follows from each cause, and the fact that decides.
var ofCause = [cause.Count]struct {
	verdict Verdict
	because string
}{
	cause.ProbeFailed:    {Workload, "readiness probes failed while the containers ran"},
	cause.ContainerExit:  {Workload, "containers exited"},
	cause.ReadinessGate:  {Workload, "a readiness gate of the pods is not True"},
	cause.PodDeleted:     {Workload, "the pods were deleted, and nothing replaced them in time"},
	cause.PodEvicted:     {Workload, "the pods were evicted, and nothing replaced them in time"},
	cause.PodCompleted:   {Workload, "the containers completed and are not restarted"},
	cause.InPlaceUpdate:  {UpdateInPlace, "an image changed while the address was in rotation"},
	cause.EndpointsReset: {EndpointsController, "the endpoints controller overwrote the Endpoints, and the Service has a selector"},
	cause.ManualWrite:    {ForeignWriter, "a client other than the Kubernetes controllers wrote the addresses"},
	cause.ServiceChanged: {ServiceSpec, "the selector or publishNotReadyAddresses changed"},
}

// addressVerdicts are the verdicts about a workload or a Service, in the order of their precedence.
var addressVerdicts = []Verdict{Planned, EndpointsController, ForeignWriter, ServiceSpec, UpdateInPlace, Workload, Node}

// OfAddresses decides about an incident of a workload or a Service.
func OfAddresses(f *AddressLoss) Decision {
	if f.Cause == cause.Unknown {
		d := Decision{Command: "kubectl get events -A --field-selector reason!=Pulled; kubectl get endpointslices -o yaml shows who wrote them last"}
		for _, v := range addressVerdicts {
			d.Considered = append(d.Considered, Considered{v, Unknown, "no event explains the loss"})
		}
		return d
	}
	is := ofCause[f.Cause]
	if is.verdict == ForeignWriter && f.Writers != "" {
		is.because = f.Writers
	}
	if f.Cause.OfNode() {
		// The pod's node is not known, so what happened to it cannot be weighed.
		return Decision{Command: "kubectl get nodes -o wide", Considered: []Considered{
			{Node, Unknown, "the pods were lost with a node that kubeflap has not seen"},
			{Workload, No, "the loss follows from the node"},
		}}
	}
	if f.Planned > 0 && f.Planned == f.Lost {
		is.verdict, is.because = Planned, "the pods left nodes whose departure was announced by "+f.AnnouncedBy
	}
	var all []Considered
	for _, v := range addressVerdicts {
		if v == is.verdict {
			all = append(all, Considered{v, Yes, is.because})
		} else {
			all = append(all, Considered{v, No, is.because})
		}
	}
	return decide(all)
}
