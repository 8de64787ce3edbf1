package verdict

import "github.com/kubeflap/kubeflap/exporter/cause"

// AddressLoss holds the facts about an incident of a workload or a Service.
type AddressLoss struct {
	Cause cause.Cause
	// Writers names unexpected clients that wrote the addresses. It is empty if kubeflap saw none.
	Writers string
	// Lost is the number of lost addresses. Planned is the number of lost addresses on nodes whose departure was
	// announced. AnnouncedBy describes the announcement.
	Lost, Planned int
	AnnouncedBy   string
	// DeletedNodes is set if every lost address was on a Node that was deleted without an announcement. It names these
	// Nodes.
	DeletedNodes string
	// Vanished is set if every address was lost for an unknown reason while kubeflap was not watching.
	Vanished bool
}

var verdictByCause = [cause.Count]struct {
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

// addressVerdicts lists the possible verdicts on a workload or a Service, in order of precedence.
var addressVerdicts = []Verdict{Planned, EndpointsController, ForeignWriter, ServiceSpec, UpdateInPlace, Workload, Node}

// OfAddresses returns the decision about an incident of a workload or a Service.
func OfAddresses(f *AddressLoss) (d Decision) {
	is, planned := verdictByCause[f.Cause], f.Planned > 0 && f.Planned == f.Lost
	switch {
	case f.DeletedNodes != "":
		// The API does not show whether the machines failed or were removed on purpose.
		because := "the pods were deleted with their Nodes: " + f.DeletedNodes
		return Decision{
			Command: "kubectl get events -A --field-selector involvedObject.kind=Node, the autoscaler's log, or the cloud's activity log shows who removed the machines",
			Considered: []Considered{
				{Node, Unknown, because + ". The machines may have failed"},
				{Planned, Unknown, because + ". Somebody may have removed the machines without notice"},
				{Workload, No, because},
			},
		}
	case f.Cause.OfNode():
		return Decision{Command: "kubectl get nodes -o wide", Considered: []Considered{
			{Node, Unknown, "the pods were lost with a node that kubeflap has not seen"},
			{Workload, No, "the loss is a consequence of the state of the node"},
		}}
	case planned:
		is.verdict, is.because = Planned, "the pods left nodes whose departure was announced by "+f.AnnouncedBy
	case f.Cause == cause.Unknown && f.Vanished:
		is.because = "kubeflap was not watching"
	case f.Cause == cause.Unknown:
		is.because = "no event explains the loss"
	case is.verdict == ForeignWriter && f.Writers != "":
		is.because = f.Writers
	}
	for _, v := range addressVerdicts {
		holds := No
		switch {
		case is.verdict == Undecided:
			holds = Unknown
		case v == is.verdict:
			holds = Yes
		}
		d.Considered = append(d.Considered, Considered{v, holds, is.because})
	}
	if d.Verdict = is.verdict; d.Verdict == Undecided {
		d.Command = "kubectl get events -A --field-selector reason!=Pulled; kubectl get endpointslices -o yaml shows who last wrote each slice"
	}
	return d
}
