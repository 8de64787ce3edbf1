package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A proxy or a server that does not speak protobuf answers in JSON. Of that, the fields that are read
// are turned into protobuf first, so that there is one reader. It is rare, so it need not be fast.

// table is a message: the names that its fields have in JSON, their numbers, and how each is written.
// What it does not list nobody reads.
type table []struct {
	name   string
	number protowire.Number
	write  form
}

// form appends a field. The path is where its value, which is JSON, was found.
type form func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error)

// documents are the kinds that are watched, and their lists.
var documents = map[string]table{
	"Node": nodeTable, "NodeList": listOf(nodeTable),
	"Lease": leaseTable, "LeaseList": listOf(leaseTable),
	"Pod": podTable, "PodList": listOf(podTable),
	"Service": serviceTable, "ServiceList": listOf(serviceTable),
	"EndpointSlice": endpointSliceTable, "EndpointSliceList": listOf(endpointSliceTable),
	"Endpoints": endpointsTable, "EndpointsList": listOf(endpointsTable),
}

func listOf(object table) table {
	return table{
		{"metadata", 1, table{{"resourceVersion", 2, text}, {"continue", 3, text}}.write},
		{"items", 2, each(object.write)},
	}
}

var metaTable = table{
	{"name", metaName, text},
	{"namespace", metaNamespace, text},
	{"uid", metaUID, text},
	{"resourceVersion", metaResourceVersion, text},
	{"deletionTimestamp", metaDeletion, timestamp},
	{"labels", metaLabels, pairs},
	{"annotations", metaAnnotations, pairs},
	{"ownerReferences", metaOwners, each(table{
		{"kind", 1, text}, {"name", 3, text}, {"uid", 4, text}, {"apiVersion", 5, text}, {"controller", 6, boolean},
	}.write)},
	{"managedFields", metaManagedFields, each(table{
		{"manager", 1, text}, {"time", 4, timestamp}, {"fieldsV1", 7, fieldsV1}, {"subresource", 8, text},
	}.write)},
}

var nodeTable = table{
	{"metadata", metadata, metaTable.write},
	{"spec", spec, table{
		{"unschedulable", 4, boolean},
		{"taints", 5, each(table{{"key", 1, text}, {"effect", 3, text}}.write)},
	}.write},
	{"status", status, table{
		{"conditions", 4, each(conditionTable.write)},
		{"nodeInfo", 7, table{{"bootID", 3, text}, {"kubeletVersion", 7, text}}.write},
	}.write},
}

// conditionTable is a node's or a pod's; a pod has no heartbeats.
var conditionTable = table{
	{"type", 1, text},
	{"status", 2, text},
	{"lastHeartbeatTime", 3, timestamp},
	{"lastTransitionTime", 4, timestamp},
	{"reason", 5, text},
	{"message", 6, text},
}

var leaseTable = table{
	{"metadata", metadata, metaTable.write},
	{"spec", spec, table{{"leaseDurationSeconds", 2, integer}, {"renewTime", 4, timestamp}}.write},
}

var serviceTable = table{
	{"metadata", metadata, metaTable.write},
	{"spec", spec, table{
		{"selector", 2, pairs}, {"type", 4, text}, {"publishNotReadyAddresses", 13, boolean},
	}.write},
}

// targetTable is an ObjectReference.
var targetTable = table{{"uid", 4, text}}

var endpointSliceTable = table{
	{"metadata", metadata, metaTable.write},
	{"endpoints", sliceEndpoints, each(table{
		{"addresses", 1, each(text)},
		{"conditions", 2, table{{"ready", 1, boolean}, {"terminating", 3, boolean}}.write},
		{"targetRef", 4, targetTable.write},
		{"nodeName", 6, text},
	}.write)},
}

var subsetAddressTable = table{{"ip", 1, text}, {"targetRef", 2, targetTable.write}, {"nodeName", 4, text}}

var endpointsTable = table{
	{"metadata", metadata, metaTable.write},
	{"subsets", 2, each(table{
		{"addresses", subsetReady, each(subsetAddressTable.write)},
		{"notReadyAddresses", subsetNotReady, each(subsetAddressTable.write)},
	}.write)},
}

var containerTable = table{
	{"name", containerName, text},
	{"image", containerImage, text},
	{"command", containerCommand, each(text)},
	{"args", containerArgs, each(text)},
	{"restartPolicy", containerRestartPolicy, text},
}

var containerStateTable = table{
	{"running", 2, table{{"startedAt", 1, timestamp}}.write},
	{"terminated", 3, table{{"exitCode", 1, integer}, {"startedAt", 5, timestamp}}.write},
}

var containerStatusTable = table{
	{"name", 1, text},
	{"state", 2, containerStateTable.write},
	{"lastState", 3, containerStateTable.write},
	{"ready", 4, boolean},
	{"restartCount", 5, integer},
	{"containerID", 8, text},
}

var podTable = table{
	{"metadata", metadata, metaTable.write},
	{"spec", spec, table{
		{"containers", specContainers, each(containerTable.write)},
		{"nodeName", specNodeName, text},
		{"initContainers", specInitContainers, each(containerTable.write)},
		{"readinessGates", specReadinessGates, each(table{{"conditionType", 1, text}}.write)},
	}.write},
	{"status", status, table{
		{"phase", statusPhase, text},
		{"conditions", statusConditions, each(conditionTable.write)},
		{"reason", statusReason, text},
		{"containerStatuses", statusContainerStatuses, each(containerStatusTable.write)},
		{"initContainerStatuses", statusInitContainerStatuses, each(containerStatusTable.write)},
	}.write},
}

// fromJSON makes the document of an object or a list that is watched. Of all else it has the kind alone, if it has one.
func fromJSON(data []byte) (Document, error) {
	var fields map[string]json.RawMessage
	var d Document
	if json.Unmarshal(data, &fields) != nil || json.Unmarshal(fields["kind"], &d.Kind) != nil {
		return Document{}, nil
	}
	t, watched := documents[d.Kind]
	if !watched {
		return d, nil
	}
	var err error
	if d.Object, err = t.message(d.Kind, data); err != nil {
		return Document{}, fmt.Errorf("open a document: %w", err)
	}
	return d, nil
}

// message makes the message of an object of JSON. As the API's own decoder does, it tells
// capital letters from small ones, and takes null for what is not there.
func (t table) message(path string, object []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil, wrong(path, "an object")
	}
	var message []byte
	for _, f := range t {
		value, found := fields[f.name]
		if !found || string(value) == "null" {
			continue
		}
		var err error
		if message, err = f.write(message, f.number, path+"."+f.name, value); err != nil {
			return nil, err
		}
	}
	return message, nil
}

func (t table) write(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	message, err := t.message(path, value)
	return appendBytes(to, number, message), err
}

// each writes a list. In one, null is an element that is empty.
func each(write form) form {
	return func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil {
			return nil, wrong(path, "a list")
		}
		for i, element := range elements {
			var err error
			if to, err = write(to, number, fmt.Sprintf("%s[%d]", path, i), element); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
}

func text(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, wrong(path, "a string")
	}
	return appendBytes(to, number, []byte(s)), nil
}

func boolean(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var b bool
	if json.Unmarshal(value, &b) != nil {
		return nil, wrong(path, "true or false")
	}
	return appendVarint(to, number, protowire.EncodeBool(b)), nil
}

func integer(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var n int32
	if json.Unmarshal(value, &n) != nil {
		return nil, wrong(path, "an integer of 32 bits")
	}
	return appendVarint(to, number, uint64(n)), nil
}

// timestamp writes a metav1.Time or a metav1.MicroTime, which differ in how much of the fraction is read.
func timestamp(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, wrong(path, "a time")
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, wrong(path, "a time")
	}
	message := appendVarint(nil, 1, uint64(t.Unix()))
	return appendBytes(to, number, appendVarint(message, 2, uint64(t.Nanosecond()))), nil
}

// pairs writes a map of strings.
func pairs(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var all map[string]string
	if json.Unmarshal(value, &all) != nil {
		return nil, wrong(path, "an object of strings")
	}
	for key, value := range all {
		pair := appendBytes(nil, 1, []byte(key))
		to = appendBytes(to, number, appendBytes(pair, 2, []byte(value)))
	}
	return to, nil
}

// fieldsV1 stays JSON in protobuf too. API servers write it without spaces, and so it is read.
func fieldsV1(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var raw bytes.Buffer
	if json.Compact(&raw, value) != nil {
		return nil, wrong(path, "JSON")
	}
	return appendBytes(to, number, appendBytes(nil, 1, raw.Bytes())), nil
}

func wrong(path, want string) error { return fmt.Errorf("%s: want %s", path, want) }

func appendBytes(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func appendVarint(to []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), value)
}
