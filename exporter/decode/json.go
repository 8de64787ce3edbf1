package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file converts JSON to protobuf, so that there is one reader. Some proxies and servers answer in JSON. They are rare, so
// the conversion need not be fast.

// table lists the fields of a message that are read: their names in JSON, their numbers, and how to convert them.
type table []struct {
	name    string
	number  protowire.Number
	convert converter
}

// converter appends a field to a message. The path says where the JSON value was found.
type converter func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error)

// documents are the watched kinds and their lists.
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
		{"metadata", 1, table{{"resourceVersion", 2, text}, {"continue", 3, text}}.convert},
		{"items", 2, each(object.convert)},
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
	}.convert)},
	{"managedFields", metaManagedFields, each(table{
		{"manager", 1, text}, {"time", 4, timestamp}, {"fieldsV1", 7, fieldsV1}, {"subresource", 8, text},
	}.convert)},
}

var nodeTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"spec", objectSpec, table{
		{"unschedulable", 4, boolean},
		{"taints", 5, each(table{{"key", 1, text}, {"effect", 3, text}}.convert)},
	}.convert},
	{"status", objectStatus, table{
		{"conditions", 4, each(conditionTable.convert)},
		{"nodeInfo", 7, table{{"bootID", 3, text}, {"kubeletVersion", 7, text}}.convert},
	}.convert},
}

// conditionTable is for nodes and pods. Pods have no heartbeats.
var conditionTable = table{
	{"type", 1, text},
	{"status", 2, text},
	{"lastHeartbeatTime", 3, timestamp},
	{"lastTransitionTime", 4, timestamp},
	{"reason", 5, text},
	{"message", 6, text},
}

var leaseTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"spec", objectSpec, table{{"leaseDurationSeconds", 2, integer}, {"renewTime", 4, timestamp}}.convert},
}

var serviceTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"spec", objectSpec, table{
		{"selector", 2, pairs}, {"type", 4, text}, {"publishNotReadyAddresses", 13, boolean},
	}.convert},
}

// targetTable is that of an ObjectReference.
var targetTable = table{{"uid", 4, text}}

var endpointSliceTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"endpoints", sliceEndpoints, each(table{
		{"addresses", 1, each(text)},
		{"conditions", 2, table{{"ready", 1, boolean}, {"terminating", 3, boolean}}.convert},
		{"targetRef", 4, targetTable.convert},
		{"nodeName", 6, text},
	}.convert)},
}

var subsetAddressTable = table{{"ip", 1, text}, {"targetRef", 2, targetTable.convert}, {"nodeName", 4, text}}

var endpointsTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"subsets", endpointsSubsets, each(table{
		{"addresses", subsetReady, each(subsetAddressTable.convert)},
		{"notReadyAddresses", subsetNotReady, each(subsetAddressTable.convert)},
	}.convert)},
}

var containerTable = table{
	{"name", containerName, text},
	{"image", containerImage, text},
	{"command", containerCommand, each(text)},
	{"args", containerArgs, each(text)},
	{"restartPolicy", containerRestartPolicy, text},
}

var containerStateTable = table{
	{"running", 2, table{{"startedAt", 1, timestamp}}.convert},
	{"terminated", 3, table{{"exitCode", 1, integer}, {"startedAt", 5, timestamp}}.convert},
}

var containerStatusTable = table{
	{"name", 1, text},
	{"state", 2, containerStateTable.convert},
	{"lastState", 3, containerStateTable.convert},
	{"ready", 4, boolean},
	{"restartCount", 5, integer},
	{"containerID", 8, text},
}

var podTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"spec", objectSpec, table{
		{"containers", specContainers, each(containerTable.convert)},
		{"nodeName", specNodeName, text},
		{"initContainers", specInitContainers, each(containerTable.convert)},
		{"readinessGates", specReadinessGates, each(table{{"conditionType", 1, text}}.convert)},
	}.convert},
	{"status", objectStatus, table{
		{"phase", statusPhase, text},
		{"conditions", statusConditions, each(conditionTable.convert)},
		{"reason", statusReason, text},
		{"containerStatuses", statusContainerStatuses, each(containerStatusTable.convert)},
		{"initContainerStatuses", statusInitContainerStatuses, each(containerStatusTable.convert)},
	}.convert},
}

// fromJSON converts the document of a watched object or list. It returns only the kind of another document, if that has one.
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
		return Document{}, fmt.Errorf("read a document: %w", err)
	}
	return d, nil
}

// message converts an object. Like the API's own decoder, it distinguishes upper and lower case, and treats null as absent.
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
		if message, err = f.convert(message, f.number, path+"."+f.name, value); err != nil {
			return nil, err
		}
	}
	return message, nil
}

func (t table) convert(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	message, err := t.message(path, value)
	return appendBytes(to, number, message), err
}

// each converts a list. A null in it is an empty element.
func each(convert converter) converter {
	return func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil {
			return nil, wrong(path, "a list")
		}
		for i, element := range elements {
			var err error
			if to, err = convert(to, number, fmt.Sprintf("%s[%d]", path, i), element); err != nil {
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

// timestamp converts a metav1.Time or a metav1.MicroTime. They differ in how much of the fraction is read.
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

// pairs converts a map of strings.
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

// fieldsV1 is JSON in protobuf, too. API servers write it without spaces, as member expects.
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
