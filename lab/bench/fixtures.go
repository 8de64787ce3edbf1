package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
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
	"k8s.io/client-go/kubernetes/scheme"
)

// fixtures creates objects as the API server would store them in etcd. To create all objects of a large cluster through
// the API server would take most of an hour and need 15 GiB of memory.
type fixtures struct {
	size Size
	// The following objects, one of each kind, were created through the API server. They show which fields the API
	// server sets.
	node      *corev1.Node
	lease     *coordinationv1.Lease
	pod       *corev1.Pod
	service   *corev1.Service
	ip        *networkingv1.IPAddress
	endpoints *corev1.Endpoints
	slice     *discoveryv1.EndpointSlice
	// uids holds the UIDs of the pods.
	uids []types.UID
}

// first is the number of objects that are created through the API server: one Service, its pods, and the nodes of these
// pods.
func (s Size) first() Size {
	return Size{Nodes: min(s.perService(), s.Nodes), Pods: s.perService(), Services: 1}
}

// newFixtures reads one object of each kind from the API server.
func newFixtures(ctx context.Context, f *filling) (*fixtures, error) {
	size, client := f.size, f.client
	t, errs := &fixtures{size: size, uids: f.uids}, make([]error, 7)
	namespace, options := size.namespace(0), metav1.GetOptions{}
	t.node, errs[0] = client.CoreV1().Nodes().Get(ctx, size.node(0), options)
	t.lease, errs[1] = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, size.node(0), options)
	t.pod, errs[2] = client.CoreV1().Pods(namespace).Get(ctx, size.pod(0), options)
	t.service, errs[3] = client.CoreV1().Services(namespace).Get(ctx, size.service(0), options)
	t.ip, errs[4] = client.NetworkingV1().IPAddresses().Get(ctx, clusterIP(0), options)
	t.endpoints, errs[5] = client.CoreV1().Endpoints(namespace).Get(ctx, size.service(0), options)
	t.slice, errs[6] = client.DiscoveryV1().EndpointSlices(namespace).Get(ctx, sliceName(size.service(0)), options)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read the first objects: %w", err)
	}
	return t, nil
}

type stored interface {
	runtime.Object
	metav1.Object
}

// all is an iterator over the objects that are not created through the API server, with their keys in etcd.
func (t *fixtures) all() iter.Seq2[string, runtime.Object] {
	return func(yield func(string, runtime.Object) bool) {
		first, going := t.size.first(), true
		put := func(directory string, object stored) {
			going = going && yield(path.Join("/registry", directory, object.GetNamespace(), object.GetName()), object)
		}
		for i := first.Nodes; i < t.size.Nodes && going; i++ {
			node := t.nodeFixture(i)
			put("minions", node)
			put("leases", t.leaseFixture(node))
		}
		for i := first.Pods; i < t.size.Pods && going; i++ {
			pod := t.podFixture(i)
			t.uids[i] = pod.UID
			put("pods", pod)
		}
		for i := first.Services; i < t.size.Services && going; i++ {
			service, members := t.serviceFixture(i), t.size.members(i, t.uids)
			put("services/specs", service)
			put("ipaddresses", t.ipFixture(service))
			put("services/endpoints", t.endpointsFixture(service, members))
			put("endpointslices", t.sliceFixture(service, members))
		}
	}
}

// system sets the metadata that the API server would set. The parameter first is an object of the same kind that was
// created through the API server. system copies its managed fields, and replaces strings in them: thereHere contains
// pairs of an old string and its replacement.
func system(object, first metav1.Object, thereHere ...string) {
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
}

func (t *fixtures) nodeFixture(i int) *corev1.Node {
	node := t.size.nodeObject(i)
	system(node, t.node, t.node.Spec.PodCIDR, node.Spec.PodCIDR)
	return node
}

func (t *fixtures) leaseFixture(node *corev1.Node) *coordinationv1.Lease {
	lease := leaseObject(node)
	system(lease, t.lease, string(t.node.UID), string(node.UID))
	return lease
}

func (t *fixtures) podFixture(i int) *corev1.Pod {
	pod := t.size.podObject(i)
	system(pod, t.pod, string(t.pod.OwnerReferences[0].UID), string(pod.OwnerReferences[0].UID),
		tokenVolume(t.pod.Spec.ServiceAccountName), tokenVolume(pod.Spec.ServiceAccountName), t.pod.Status.PodIP, pod.Status.PodIP)
	// The API server copies these labels from the node to the pod.
	pod.Labels[corev1.LabelTopologyZone], pod.Labels[corev1.LabelTopologyRegion] = zone(t.size.nodeOf(i)), region
	return pod
}

func (t *fixtures) serviceFixture(i int) *corev1.Service {
	service := t.size.serviceObject(i)
	system(service, t.service)
	return service
}

// ipFixture returns the IPAddress object that the API server creates for the Service's cluster IP.
func (t *fixtures) ipFixture(service *corev1.Service) *networkingv1.IPAddress {
	ip := t.ip.DeepCopy()
	ip.Name, ip.ResourceVersion = service.Spec.ClusterIP, ""
	ip.Spec.ParentRef.Namespace, ip.Spec.ParentRef.Name = service.Namespace, service.Name
	system(ip, t.ip)
	return ip
}

func (t *fixtures) endpointsFixture(service *corev1.Service, members []member) *corev1.Endpoints {
	endpoints := endpointsObject(service, members)
	system(endpoints, t.endpoints)
	return endpoints
}

func (t *fixtures) sliceFixture(service *corev1.Service, members []member) *discoveryv1.EndpointSlice {
	slice := sliceObject(service, members)
	system(slice, t.slice, string(t.service.UID), string(service.UID))
	return slice
}

// batch is the number of objects that are written in one transaction.
const batch = 1_000

// write adds all objects to the database file of a stopped etcd. A running etcd would also write the objects to its
// log, which etcd reads at each start and keeps in memory.
func (t *fixtures) write(data string) error {
	db, err := bbolt.Open(filepath.Join(data, "member", "snap", "db"), 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return fmt.Errorf("open etcd's file: %w", err)
	}
	next, stop := iter.Pull2(t.all())
	defer stop()
	for more := true; more && err == nil; {
		err = db.Update(func(tx *bbolt.Tx) (err error) {
			more, err = writeBatch(tx.Bucket([]byte("key")), next)
			return err
		})
	}
	if err := errors.Join(err, db.Sync(), db.Close()); err != nil {
		return fmt.Errorf("write etcd's file: %w", err)
	}
	return nil
}

// writeBatch adds objects to the database. Each object gets the next revision.
func writeBatch(bucket *bbolt.Bucket, next func() (string, runtime.Object, bool)) (more bool, err error) {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	codec := scheme.Codecs.EncoderForVersion(serializer, schema.GroupVersions(scheme.Scheme.PrioritizedVersionsAllGroups()))
	bucket.FillPercent = 1
	last, _ := bucket.Cursor().Last()
	revision := binary.BigEndian.Uint64(last)
	for range batch {
		key, object, more := next()
		if !more {
			return false, nil
		}
		value, err := runtime.Encode(codec, object)
		if err != nil {
			return false, fmt.Errorf("encode %s: %w", key, err)
		}
		revision++
		stored := mvccpb.KeyValue{Key: []byte(key), Value: value, CreateRevision: int64(revision), ModRevision: int64(revision), Version: 1}
		text, err := stored.Marshal()
		if err != nil {
			return false, fmt.Errorf("encode %s: %w", key, err)
		}
		// A key in etcd's database consists of the main revision, a '_', and the sub-revision.
		at := append(binary.BigEndian.AppendUint64(nil, revision), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
		if err := bucket.Put(at, text); err != nil {
			return false, err
		}
	}
	return true, nil
}
