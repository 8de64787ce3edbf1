package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// churning is an API server with Services whose only pod flaps. It speaks protobuf over HTTP.
type churning struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string][]byte // objects holds the message of each object, by resource and name
	// changes holds the frames of all watches with their versions, by resource.
	changes map[string][]change
	changed chan struct{}
}

type change struct {
	version int
	frame   []byte
}

const churningServices = 20

func newChurning() *churning {
	c := &churning{version: 100, objects: map[string]map[string][]byte{}, changes: map[string][]change{}, changed: make(chan struct{})}
	c.set("nodes", "node-1", &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"}}}})
	for i := range churningServices {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, ClusterIP: "10.0.0.1"}}
		c.set("services", fmt.Sprintf("web-%d", i), service)
		c.setReady(i, true)
	}
	return c
}

// churningKinds holds the API version and the kind of each resource.
var churningKinds = map[string]runtime.TypeMeta{
	"nodes": {APIVersion: "v1", Kind: "Node"}, "leases": {APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
	"pods": {APIVersion: "v1", Kind: "Pod"}, "services": {APIVersion: "v1", Kind: "Service"},
	"endpointslices": {APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, "endpoints": {APIVersion: "v1", Kind: "Endpoints"},
}

// message is an object that encodes itself as protobuf.
type message interface{ Marshal() ([]byte, error) }

type churningObject interface {
	metav1.Object
	message
}

// set writes an object.
func (c *churning) set(resource, name string, object churningObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	if c.objects[resource] == nil {
		c.objects[resource] = map[string][]byte{}
	}
	what := "MODIFIED"
	if c.objects[resource][name] == nil {
		what = "ADDED"
	}
	object.SetName(name)
	object.SetNamespace("shop")
	object.SetUID(churningUID(resource, name))
	object.SetResourceVersion(strconv.Itoa(c.version))
	encoded := marshal(object)
	c.objects[resource][name] = encoded
	c.changes[resource] = append(c.changes[resource], change{c.version, frame(what, document(churningKinds[resource], encoded))})
	close(c.changed)
	c.changed = make(chan struct{})
}

func churningUID(resource, name string) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", len(resource), hash(name)))
}

func marshal(m message) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// document returns an object or a list as the API server sends it.
func document(kind runtime.TypeMeta, encoded []byte) []byte {
	return append([]byte("k8s\x00"), marshal(&runtime.Unknown{TypeMeta: kind, Raw: encoded})...)
}

// frame returns a watch event with its length.
func frame(what string, document []byte) []byte {
	event := marshal(&metav1.WatchEvent{Type: what, Object: runtime.RawExtension{Raw: document}})
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

func hash(s string) (sum int) {
	for _, b := range []byte(s) {
		sum = sum*31 + int(b)
	}
	return sum & 0xffffffffff
}

// setReady writes a pod and its EndpointSlice.
func (c *churning) setReady(i int, ready bool) {
	name, address := fmt.Sprintf("web-%d", i), fmt.Sprintf("10.1.0.%d", i+1)
	status := map[bool]corev1.ConditionStatus{true: "True", false: "False"}[ready]
	c.set("pods", name, &corev1.Pod{
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{Phase: "Running", PodIP: address, Conditions: []corev1.PodCondition{
			{Type: "Ready", Status: status}, {Type: "ContainersReady", Status: status},
		}},
	})
	c.set("endpointslices", name, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
		}},
		AddressType: "IPv4", Ports: []discoveryv1.EndpointPort{{Port: new(int32(80))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, NodeName: new("node-1"),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name, UID: churningUID("pods", name)},
		}},
	})
}

// churn makes pods fail for up to 3 s each until the context is canceled.
func (c *churning) churn(ctx context.Context) {
	for ctx.Err() == nil {
		i := rand.IntN(churningServices)
		go func() {
			c.setReady(i, false)
			time.Sleep(time.Duration(100+rand.IntN(3000)) * time.Millisecond)
			c.setReady(i, true)
		}()
		time.Sleep(time.Duration(50+rand.IntN(1500)) * time.Millisecond)
	}
}

// ServeHTTP implements http.Handler.
func (c *churning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, query := path.Base(r.URL.Path), r.URL.Query()
	kind, known := churningKinds[resource]
	switch {
	case resource == "version":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"gitVersion":"v1.34.0"}`)
	case !known || strings.Contains(r.URL.Path, "kube-system"):
		http.NotFound(w, r)
	case query.Has("watch"):
		c.watch(w, r, resource, query.Get("resourceVersion"))
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		// All list types have the same two fields.
		list := marshal(&metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version)}})
		for _, object := range c.objects[resource] {
			list = protowire.AppendBytes(protowire.AppendTag(list, 2, protowire.BytesType), object)
		}
		kind.Kind += "List"
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(document(kind, list))
	}
}

func (c *churning) watch(w http.ResponseWriter, r *http.Request, resource, from string) {
	after, _ := strconv.Atoi(from)
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		c.mu.Lock()
		var frames bytes.Buffer
		all := c.changes[resource]
		for i := len(all) - 1; i >= 0 && all[i].version > after; i-- {
			frames.Reset()
			for _, x := range all[i:] {
				frames.Write(x.frame)
			}
		}
		after = c.version
		changed := c.changed
		c.mu.Unlock()
		if _, err := w.Write(frames.Bytes()); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
