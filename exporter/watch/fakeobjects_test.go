package watch

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// message is an object that encodes itself as protobuf.
type message interface{ Marshal() ([]byte, error) }

// apiTypes holds the version and the kind of each resource.
var apiTypes = map[string][2]string{
	"nodes": {"v1", "Node"}, "pods": {"v1", "Pod"}, "services": {"v1", "Service"}, "endpoints": {"v1", "Endpoints"},
	"endpointslices": {"discovery.k8s.io/v1", "EndpointSlice"},
	"deployments":    {"apps/v1", "Deployment"}, "statefulsets": {"apps/v1", "StatefulSet"},
	"leases": {"coordination.k8s.io/v1", "Lease"}, "controlplaneleases": {"coordination.k8s.io/v1", "Lease"},
}

// encoded returns an object as the API server sends it: its type and its message.
func encoded(version, kind string, m message) *runtime.Unknown {
	return &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: marshal(m)}
}

func marshal(m message) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// apiObject returns an object of which only the metadata are set. All types encode them in the same way.
func apiObject(resource, name, version string) *runtime.Unknown {
	return encoded(apiTypes[resource][0], apiTypes[resource][1], &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version},
	})
}

func bookmark(resource, version string) *runtime.Unknown { return apiObject(resource, "", version) }

// listVersion is the resourceVersion of all lists.
const listVersion = "10"

// apiList returns a page of a list. All list types have the same two fields.
func apiList(resource, next string, items []*runtime.Unknown) *runtime.Unknown {
	list := encoded(apiTypes[resource][0], apiTypes[resource][1]+"List", &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: listVersion, Continue: next}})
	for _, item := range items {
		list.Raw = protowire.AppendBytes(protowire.AppendTag(list.Raw, 2, protowire.BytesType), item.Raw)
	}
	return list
}

// broken returns a pod that cannot be decoded.
func broken() *runtime.Unknown {
	return &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: []byte("\x0a\x05cut")}
}

func status(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

// document returns the body of a response.
func document(object *runtime.Unknown) []byte { return append([]byte("k8s\x00"), marshal(object)...) }

// frame returns a watch event with its length.
func frame(what string, object *runtime.Unknown) string {
	event := marshal(&metav1.WatchEvent{Type: what, Object: runtime.RawExtension{Raw: document(object)}})
	return string(append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...))
}

// errorFrame returns the watch event of an error.
func errorFrame(code int, reason metav1.StatusReason, message string) string {
	return frame("ERROR", encoded("v1", "Status", status(code, reason, message)))
}
