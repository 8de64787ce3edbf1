package pods

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// owner is a pod's controller, such as "ReplicaSet/web-5d4", with the workload to which the pod belongs and the revision of
// the template from which it was created. Pods from the same template share it. The workload is zero if it is unknown, or
// if it does not replace pods by pods of another revision.
type owner struct {
	name, revision string
	workload       event.WorkloadName
}

// ownerOf returns a pod's owner. The Deployment controller sets pod-template-hash. The controllers of StatefulSets and
// DaemonSets set controller-revision-hash (see pkg/controller/history).
func ownerOf(o *event.Pod) owner {
	is := owner{name: o.Owner, revision: o.Labels["controller-revision-hash"]}
	kind, name, _ := strings.Cut(o.Owner, "/")
	switch w, ok := o.Workload(); {
	case ok && kind == "ReplicaSet":
		is.revision, is.workload = o.Labels["pod-template-hash"], w
	case ok:
		is.workload = w
	case kind == "DaemonSet" && is.revision != "":
		is.workload = event.WorkloadName{Kind: kind, Namespace: o.Namespace, Name: name}
	}
	return is
}

// Workload returns the workload to which a pod belongs, and the pod's revision, even if the pod was deleted recently.
func (x *Pods) Workload(id event.UID) (w event.WorkloadName, revision string) {
	p, _ := x.Recall(id)
	if p == nil {
		return w, ""
	}
	o := x.of(p).owner
	return o.workload, o.revision
}

// appearedFor is the time for which the appearance of a pod is kept, if other pods of the namespace appear later.
const appearedFor = 15 * time.Minute

// appearance is the time at which the newest pod of a revision appeared. first is the time of the first of its pods.
type appearance struct {
	workload  event.WorkloadName
	revision  string
	first, at time.Time
}

// appear notes that a pod appeared, and returns its workload.
func (x *Pods) appear(p *Pod, t time.Time) event.WorkloadName {
	is, n := x.of(p).owner, x.of(p).namespace
	if is.workload == (event.WorkloadName{}) || is.revision == "" {
		return is.workload
	}
	if i := slices.IndexFunc(n.appeared, func(a appearance) bool { return a.workload == is.workload && a.revision == is.revision }); i >= 0 {
		n.appeared[i].at = t
		return is.workload
	}
	n.appeared = slices.DeleteFunc(n.appeared, func(a appearance) bool { return t.Sub(a.at) > appearedFor })
	n.appeared = append(n.appeared, appearance{is.workload, is.revision, t, t})
	return is.workload
}

// Appeared returns the times at which the newest pods of a workload appeared, with the given revision and with newer ones.
// A revision is newer if one of its pods appeared after the first pod of the given revision. A time is zero if there was no
// such pod recently.
func (x *Pods) Appeared(w event.WorkloadName, revision string) (same, newer time.Time) {
	n := x.byName[w.Namespace]
	if revision == "" || n == nil {
		return same, newer
	}
	var first time.Time
	for _, a := range n.appeared {
		if a.workload == w && a.revision == revision {
			first, same = a.first, a.at
		}
	}
	for _, a := range n.appeared {
		if a.workload == w && a.revision != revision && a.at.After(first) && a.at.After(newer) {
			newer = a.at
		}
	}
	return same, newer
}
