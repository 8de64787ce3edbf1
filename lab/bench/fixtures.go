package main

import (
	"context"
	"encoding/binary"
	"path"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// fixtures creates the objects of a cluster. It creates only one Service, its pods, and the nodes of these pods through
// the API server. It writes all others to etcd's database file, as the API server would store them. To create all
// objects of a large cluster through the API server would take most of an hour and need 15 GiB of memory.
type fixtures struct {
	size   Size
	client kubernetes.Interface
	uids   []types.UID // of the pods
	// The following objects, one of each kind, were created through the API server. They show which fields the API
	// server sets.
	node      *corev1.Node
	lease     *coordinationv1.Lease
	pod       *corev1.Pod
	service   *corev1.Service
	ip        *networkingv1.IPAddress
	endpoints *corev1.Endpoints
	slice     *discoveryv1.EndpointSlice
}

// first is the number of objects that are created through the API server.
func (s Size) first() Size {
	return Size{Nodes: min(s.perService(), s.Nodes), Pods: s.perService(), Services: 1}
}

// createFirst creates the first objects, as the kubelets and the controllers do.
func (t *fixtures) createFirst(ctx context.Context) {
	core, first := t.client.CoreV1(), t.size.first()
	asKubelet, asManager := metav1.CreateOptions{FieldManager: byKubelet}, metav1.CreateOptions{FieldManager: byControllerManager}
	status := metav1.UpdateOptions{FieldManager: byKubelet}
	for i := first.Nodes - 1; i >= 0; i-- {
		object := t.size.nodeObject(i)
		node := steps.Value(core.Nodes().Create(ctx, object, asKubelet))
		node.Status = object.Status
		t.node = steps.Value(core.Nodes().UpdateStatus(ctx, node, status))
		t.lease = steps.Value(t.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, leaseObject(node), asKubelet))
	}
	namespace := t.size.namespace(0)
	for i := first.Pods - 1; i >= 0; i-- {
		object := t.size.podObject(i)
		pod := steps.Value(core.Pods(namespace).Create(ctx, object, asManager))
		t.uids[i], pod.Status = pod.UID, object.Status
		t.pod = steps.Value(core.Pods(namespace).UpdateStatus(ctx, pod, status))
	}
	members := t.size.members(0, t.uids)
	t.service = steps.Value(core.Services(namespace).Create(ctx, t.size.serviceObject(0), metav1.CreateOptions{FieldManager: byHelm}))
	t.endpoints = steps.Value(core.Endpoints(namespace).Create(ctx, endpointsObject(t.service, members), asManager))
	t.slice = steps.Value(t.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, sliceObject(t.service, members), asManager))
	t.ip = steps.Value(t.client.NetworkingV1().IPAddresses().Get(ctx, clusterIP(0), metav1.GetOptions{}))
}

// writeRest writes all other objects to the database file of a stopped etcd. A running etcd would also write the objects
// to its log, which etcd reads at each start and keeps in memory.
func (t *fixtures) writeRest(data string) {
	db := steps.Value(bbolt.Open(filepath.Join(data, "member", "snap", "db"), 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType}))
	w, first := &etcdWriter{db: db}, t.size.first()
	w.begin()
	for i := first.Nodes; i < t.size.Nodes; i++ {
		node := system(t.size.nodeObject(i), t.node, t.node.Spec.PodCIDR, t.size.nodeObject(i).Spec.PodCIDR)
		w.put("minions", node)
		w.put("leases", system(leaseObject(node), t.lease, string(t.node.UID), string(node.UID)))
	}
	for i := first.Pods; i < t.size.Pods; i++ {
		pod := t.size.podObject(i)
		system(pod, t.pod, string(t.pod.OwnerReferences[0].UID), string(pod.OwnerReferences[0].UID),
			tokenVolume(t.pod.Spec.ServiceAccountName), tokenVolume(pod.Spec.ServiceAccountName), t.pod.Status.PodIP, pod.Status.PodIP)
		// The API server copies these labels from the node to the pod.
		pod.Labels[corev1.LabelTopologyZone], pod.Labels[corev1.LabelTopologyRegion] = zone(t.size.nodeOf(i)), region
		t.uids[i] = pod.UID
		w.put("pods", pod)
	}
	for i := first.Services; i < t.size.Services; i++ {
		service, members := system(t.size.serviceObject(i), t.service), t.size.members(i, t.uids)
		w.put("services/specs", service)
		// The API server creates this object for the Service's cluster IP.
		ip := t.ip.DeepCopy()
		ip.Name, ip.ResourceVersion = service.Spec.ClusterIP, ""
		ip.Spec.ParentRef.Namespace, ip.Spec.ParentRef.Name = service.Namespace, service.Name
		w.put("ipaddresses", system(ip, t.ip))
		w.put("services/endpoints", system(endpointsObject(service, members), t.endpoints))
		w.put("endpointslices", system(sliceObject(service, members), t.slice, string(t.service.UID), string(service.UID)))
	}
	steps.Must(w.tx.Commit(), db.Sync(), db.Close())
}

// system sets the metadata that the API server would set. The parameter first is an object of the same kind that was
// created through the API server. system copies its managed fields, and replaces strings in them: thereHere contains
// pairs of an old string and its replacement.
func system[T metav1.Object](object, first T, thereHere ...string) T {
	object.SetUID(uuid.NewUUID())
	object.SetCreationTimestamp(first.GetCreationTimestamp())
	object.SetGeneration(first.GetGeneration())
	replacer := strings.NewReplacer(thereHere...)
	var managed []metav1.ManagedFieldsEntry
	for _, entry := range first.GetManagedFields() {
		entry.FieldsV1 = metav1.NewFieldsV1(replacer.Replace(entry.FieldsV1.GetRawString()))
		managed = append(managed, entry)
	}
	object.SetManagedFields(managed)
	return object
}

// batch is the number of objects that are written in one transaction.
const batch = 1_000

// etcdWriter adds objects to etcd's database. Each object gets the next revision.
type etcdWriter struct {
	db       *bbolt.DB
	tx       *bbolt.Tx
	bucket   *bbolt.Bucket
	revision uint64
}

func (w *etcdWriter) begin() {
	w.tx = steps.Value(w.db.Begin(true))
	w.bucket = w.tx.Bucket([]byte("key"))
	w.bucket.FillPercent = 1
	last, _ := w.bucket.Cursor().Last()
	w.revision = binary.BigEndian.Uint64(last)
}

type stored interface {
	runtime.Object
	metav1.Object
}

func (w *etcdWriter) put(directory string, object stored) {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	codec := scheme.Codecs.EncoderForVersion(serializer, schema.GroupVersions(scheme.Scheme.PrioritizedVersionsAllGroups()))
	w.revision++
	entry := mvccpb.KeyValue{
		Key: []byte(path.Join("/registry", directory, object.GetNamespace(), object.GetName())), Value: steps.Value(runtime.Encode(codec, object)),
		CreateRevision: int64(w.revision), ModRevision: int64(w.revision), Version: 1,
	}
	// A key in etcd's database consists of the main revision, a '_', and the sub-revision.
	key := append(binary.BigEndian.AppendUint64(nil, w.revision), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
	steps.Must(w.bucket.Put(key, steps.Value(entry.Marshal())))
	if w.revision%batch == 0 {
		steps.Must(w.tx.Commit())
		w.begin()
	}
}
