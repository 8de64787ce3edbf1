package decode

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The functions in this file convert the API's own types to slim objects, for comparisons in tests.

func slimNode(node *corev1.Node) *event.Node {
	slim := &event.Node{
		Meta:           slimMeta(&node.ObjectMeta),
		Unschedulable:  node.Spec.Unschedulable,
		KubeletVersion: node.Status.NodeInfo.KubeletVersion,
		BootID:         node.Status.NodeInfo.BootID,
		Labels:         map[string]string{},
		ProviderID:     node.Spec.ProviderID,
	}
	if node.DeletionTimestamp != nil {
		slim.DeletionTimestamp = utc(*node.DeletionTimestamp)
	}
	for _, label := range event.NodeLabels() {
		if value, found := node.Labels[label.Key]; found {
			slim.Labels[label.Key] = value
		}
	}
	slimNodeConditions(node, slim)
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		slim.Taints = append(slim.Taints, event.Taint{
			Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect), Added: utc(or(taint.TimeAdded, metav1.Time{})),
		})
	}
	return slim
}

func slimNodeConditions(node *corev1.Node, slim *event.Node) {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		switch c.Type {
		case corev1.NodeReady:
			if slim.Ready == nil {
				slim.Ready = &event.Condition{
					Status: event.ParseStatus(string(c.Status)), Reason: c.Reason, Message: c.Message,
					LastHeartbeatTime: utc(c.LastHeartbeatTime), LastTransitionTime: utc(c.LastTransitionTime),
				}
			}
		case "DrainInProgress", "Drained", "MaintenancePlanned", "MaintenanceInProgress", "GracefulNodeShutdownInProgress":
			slim.Lifecycle = append(slim.Lifecycle, event.LifecycleCondition{
				Type: event.LifecycleType(c.Type), Status: event.ParseStatus(string(c.Status)), Reason: c.Reason, LastTransitionTime: utc(c.LastTransitionTime),
			})
		}
	}
}

func slimControlPlaneLease(lease *coordinationv1.Lease) *event.ControlPlaneLease {
	node := slimLease(lease)
	return &event.ControlPlaneLease{
		Meta: node.Meta, RenewTime: node.RenewTime, Holder: or(lease.Spec.HolderIdentity, ""),
		Host: lease.Labels[corev1.LabelHostname],
	}
}

func slimLease(lease *coordinationv1.Lease) *event.Lease {
	slim := &event.Lease{Meta: slimMeta(&lease.ObjectMeta)}
	if renew := lease.Spec.RenewTime; renew != nil {
		slim.RenewTime = renew.Time.UTC()
	}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		slim.DurationSeconds = *seconds
	}
	return slim
}

func slimService(service *corev1.Service) *event.Service {
	return &event.Service{
		Meta:            slimMeta(&service.ObjectMeta),
		Type:            string(service.Spec.Type),
		Selector:        service.Spec.Selector,
		PublishNotReady: service.Spec.PublishNotReadyAddresses,
	}
}

func slimPod(pod *corev1.Pod) *event.Pod {
	slim := &event.Pod{
		Meta:              slimMeta(&pod.ObjectMeta),
		Node:              pod.Spec.NodeName,
		Phase:             string(pod.Status.Phase),
		Reason:            pod.Status.Reason,
		Gates:             len(pod.Spec.ReadinessGates),
		Containers:        slimContainers(pod),
		ControllerManager: controllerManager(pod),
		Labels:            map[string]string{},

		ToleratesNotReady:    tolerated(pod.Spec.Tolerations, corev1.TaintNodeNotReady),
		ToleratesUnreachable: tolerated(pod.Spec.Tolerations, corev1.TaintNodeUnreachable),
	}
	maps.Copy(slim.Labels, pod.Labels)
	if pod.DeletionTimestamp != nil {
		slim.DeletionTimestamp = utc(*pod.DeletionTimestamp)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		slim.Owner = owner.Kind + "/" + owner.Name
	}
	slimConditions(pod, slim)
	return slim
}

// tolerated returns the toleration that the taint-eviction controller applies to a taint
// (pkg/controller/tainteviction).
func tolerated(tolerations []corev1.Toleration, key string) *event.Toleration {
	taint := &corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
	for i := range tolerations {
		if tolerations[i].ToleratesTaint(logr.Discard(), taint, true) {
			seconds := tolerations[i].TolerationSeconds
			return &event.Toleration{Forever: seconds == nil, Seconds: max(or(seconds, 0), 0)}
		}
	}
	return &event.Toleration{}
}

func slimConditions(pod *corev1.Pod, slim *event.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch c.Type {
		case corev1.PodReady:
			slim.Ready = &event.Condition{
				Status: event.ParseStatus(string(c.Status)), Reason: c.Reason, Message: c.Message,
				LastTransitionTime: utc(c.LastTransitionTime),
			}
		case corev1.ContainersReady:
			slim.ContainersReady = event.ParseStatus(string(c.Status))
		case corev1.DisruptionTarget:
			if c.Status == corev1.ConditionTrue {
				slim.Disruption = c.Reason
			}
		}
	}
	for i := range pod.Spec.ReadinessGates {
		if gate := pod.Spec.ReadinessGates[i].ConditionType; !isTrue(pod.Status.Conditions, gate) {
			slim.GatesNotReady = append(slim.GatesNotReady, string(gate))
		}
	}
}

func isTrue(conditions []corev1.PodCondition, conditionType corev1.PodConditionType) bool {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

func slimContainers(pod *corev1.Pod) []event.Container {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	containers := make([]event.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		containers = append(containers, slimContainer(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	for i := range pod.Spec.InitContainers {
		if spec := &pod.Spec.InitContainers[i]; or(spec.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, slimContainer(spec, pod.Status.InitContainerStatuses))
		}
	}
	return containers
}

func slimContainer(spec *corev1.Container, statuses []corev1.ContainerStatus) event.Container {
	slim := event.Container{Name: spec.Name, Image: spec.Image}
	for i := range statuses {
		if statuses[i].Name == spec.Name {
			addStatus(&slim, &statuses[i])
			break
		}
	}
	return slim
}

func addStatus(slim *event.Container, status *corev1.ContainerStatus) {
	slim.ID, slim.Ready, slim.Restarts = status.ContainerID, status.Ready, status.RestartCount
	switch state := &status.State; {
	case state.Running != nil:
		slim.State, slim.Started = "running", utc(state.Running.StartedAt)
	case state.Terminated != nil:
		slim.State, slim.Started = "terminated", utc(state.Terminated.StartedAt)
	default:
		// ContainerState: "If none of them is specified, the default one is ContainerStateWaiting."
		slim.State = "waiting"
	}
}

func slimEndpoints(endpoints *corev1.Endpoints) *event.Endpoints {
	return &event.Endpoints{
		Meta:      slimMeta(&endpoints.ObjectMeta),
		Truncated: endpoints.Annotations[corev1.EndpointsOverCapacity] == "truncated",
		Writer:    writer(endpoints.ManagedFields, "f:subsets"),

		LastApplied: typedLastApplied(&endpoints.ObjectMeta, "subsets"),
		OtherWriter: writer(others(endpoints.ManagedFields), "f:subsets"),
		Addresses:   subsetAddresses(endpoints.Subsets),
	}
}

// typedLastApplied reports whether kubectl apply last sent a list with elements.
func typedLastApplied(meta *metav1.ObjectMeta, list string) bool {
	var sent map[string]json.RawMessage // a struct would ignore the case of names
	var elements []json.RawMessage
	return json.Unmarshal([]byte(meta.Annotations[corev1.LastAppliedConfigAnnotation]), &sent) == nil &&
		json.Unmarshal(sent[list], &elements) == nil && len(elements) > 0
}

func others(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == "" || entry.Manager == "kube-controller-manager"
	})
}

func subsetAddresses(subsets []corev1.EndpointSubset) []event.Address {
	number := 0
	for i := range subsets {
		number += len(subsets[i].Addresses) + len(subsets[i].NotReadyAddresses)
	}
	if number == 0 {
		return nil
	}
	addresses := make([]event.Address, 0, number)
	places := make(map[event.UID]int, number)
	add := func(from *corev1.EndpointAddress) *event.Address {
		address := newAddress(from.IP, from.TargetRef)
		place, found := places[address.UID]
		if !found {
			place = len(addresses)
			places[address.UID] = place
			address.Node = or(from.NodeName, "")
			addresses = append(addresses, address)
		}
		return &addresses[place]
	}
	for i := range subsets {
		for j := range subsets[i].Addresses {
			add(&subsets[i].Addresses[j]).Ready = true
		}
		for j := range subsets[i].NotReadyAddresses {
			add(&subsets[i].NotReadyAddresses[j])
		}
	}
	return addresses
}

func slimEndpointSlice(slice *discoveryv1.EndpointSlice) *event.EndpointSlice {
	slim := &event.EndpointSlice{
		Meta:      slimMeta(&slice.ObjectMeta),
		Service:   slice.Labels[discoveryv1.LabelServiceName],
		Owner:     owningService(slice.OwnerReferences),
		ManagedBy: slice.Labels[discoveryv1.LabelManagedBy],
		Writer:    writer(slice.ManagedFields, "f:endpoints"),
	}
	if len(slice.Endpoints) > 0 {
		slim.Addresses = make([]event.Address, 0, len(slice.Endpoints))
	}
	for i := range slice.Endpoints {
		if endpoint := &slice.Endpoints[i]; len(endpoint.Addresses) > 0 {
			slim.Addresses = append(slim.Addresses, sliceAddress(endpoint))
		}
	}
	return slim
}

func sliceAddress(endpoint *discoveryv1.Endpoint) event.Address {
	address := newAddress(endpoint.Addresses[0], endpoint.TargetRef)
	address.Node = or(endpoint.NodeName, "")
	address.Ready = or(endpoint.Conditions.Ready, true)
	address.Terminating = or(endpoint.Conditions.Terminating, false)
	return address
}

func newAddress(ip string, target *corev1.ObjectReference) event.Address {
	address := event.Address{IP: ip, ByHand: target == nil}
	if target != nil && target.UID != "" {
		address.UID = event.ParseUID(string(target.UID))
	} else {
		address.UID = event.AddressUID(ip)
	}
	return address
}

func owningService(owners []metav1.OwnerReference) event.UID {
	for i := range owners {
		if owners[i].Kind == "Service" && owners[i].APIVersion == "v1" {
			return event.ParseUID(string(owners[i].UID))
		}
	}
	return event.UID{}
}

// or returns *pointer, or the parameter otherwise if pointer is nil.
func or[T any](pointer *T, otherwise T) T {
	if pointer == nil {
		return otherwise
	}
	return *pointer
}

func controllerManager(pod *corev1.Pod) *event.ControllerManager {
	if pod.Labels["component"] != controllerManagerName {
		return nil
	}
	slim := &event.ControllerManager{}
	var words []string
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if slim.Version == "" || container.Name == controllerManagerName {
			slim.Version = imageTag(container.Image)
		}
		words = append(append(words, typedWords(container)...), endOfCommand)
	}
	slim.GracePeriod = 50 * time.Second
	slim.Flags = &event.ControllerManagerFlags{}
	for _, w := range words {
		if w == "0" || w == "50.5" {
			v, _ := strconv.ParseFloat(w, 64)
			slim.Flags.QPS = &v
		}
	}
	if !slices.Contains(words, "--node-monitor-grace-period=50s") {
		slim.GracePeriod = 0
	}
	return slim
}

func typedWords(container *corev1.Container) []string {
	var words []string
	for _, argument := range append(slices.Clone(container.Command), container.Args...) {
		words = append(words, strings.Fields(argument)...)
	}
	return words
}

func slimMeta(object *metav1.ObjectMeta) event.Meta {
	return event.Meta{UID: event.ParseUID(string(object.UID)), Namespace: object.Namespace, Name: object.Name, ResourceVersion: object.ResourceVersion}
}

// utc converts a time to UTC. The API's decoders return local times, which are not comparable.
func utc(t metav1.Time) time.Time { return t.Time.UTC() }

func writer(entries []metav1.ManagedFieldsEntry, path string) string {
	var last *metav1.ManagedFieldsEntry
	for i := range entries {
		entry := &entries[i]
		wrote := member(entry.FieldsV1.GetRawBytes(), path) != nil
		if wrote && (last == nil || !entry.Time.Before(last.Time)) {
			last = entry
		}
	}
	if last == nil {
		return ""
	}
	return last.Manager
}
