package fromjson

// The tables contain the JSON names and the protobuf numbers of the fields to convert. The numbers come from the
// generated.proto files of k8s.io/api.

// documents contains the table of each watched kind, and of the kind's list.
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
	{"name", 1, text},
	{"namespace", 3, text},
	{"uid", 5, text},
	{"resourceVersion", 6, text},
	{"deletionTimestamp", 9, timestamp},
	{"labels", 11, pairs},
	{"annotations", 12, pairs},
	{"ownerReferences", 13, each(table{
		{"kind", 1, text}, {"name", 3, text}, {"uid", 4, text}, {"apiVersion", 5, text}, {"controller", 6, boolean},
	}.convert)},
	{"managedFields", 17, each(table{
		{"manager", 1, text}, {"time", 4, timestamp}, {"fieldsV1", 7, fieldsV1}, {"subresource", 8, text},
	}.convert)},
}

var nodeTable = table{
	{"metadata", 1, metaTable.convert},
	{"spec", 2, table{
		{"providerID", 3, text},
		{"unschedulable", 4, boolean},
		{"taints", 5, each(table{
			{"key", 1, text}, {"value", 2, text}, {"effect", 3, text}, {"timeAdded", 4, timestamp},
		}.convert)},
	}.convert},
	{"status", 3, table{
		{"conditions", 4, each(conditionTable.convert)},
		{"nodeInfo", 7, table{{"bootID", 3, text}, {"kubeletVersion", 7, text}}.convert},
	}.convert},
}

// conditionTable converts conditions of nodes and pods. Conditions of pods have no heartbeat.
var conditionTable = table{
	{"type", 1, text},
	{"status", 2, text},
	{"lastHeartbeatTime", 3, timestamp},
	{"lastTransitionTime", 4, timestamp},
	{"reason", 5, text},
	{"message", 6, text},
}

var leaseTable = table{
	{"metadata", 1, metaTable.convert},
	{"spec", 2, table{
		{"holderIdentity", 1, text},
		{"leaseDurationSeconds", 2, integer},
		{"renewTime", 4, timestamp},
		{"leaseTransitions", 5, integer},
	}.convert},
}

var serviceTable = table{
	{"metadata", 1, metaTable.convert},
	{"spec", 2, table{
		{"selector", 2, pairs}, {"type", 4, text}, {"publishNotReadyAddresses", 13, boolean},
	}.convert},
}

// targetTable converts an ObjectReference.
var targetTable = table{{"uid", 4, text}}

var endpointSliceTable = table{
	{"metadata", 1, metaTable.convert},
	{"endpoints", 2, each(table{
		{"addresses", 1, each(text)},
		{"conditions", 2, table{{"ready", 1, boolean}, {"terminating", 3, boolean}}.convert},
		{"targetRef", 4, targetTable.convert},
		{"nodeName", 6, text},
	}.convert)},
}

var subsetAddressTable = table{{"ip", 1, text}, {"targetRef", 2, targetTable.convert}, {"nodeName", 4, text}}

var endpointsTable = table{
	{"metadata", 1, metaTable.convert},
	{"subsets", 2, each(table{
		{"addresses", 1, each(subsetAddressTable.convert)},
		{"notReadyAddresses", 2, each(subsetAddressTable.convert)},
	}.convert)},
}

var containerTable = table{
	{"name", 1, text},
	{"image", 2, text},
	{"command", 3, each(text)},
	{"args", 4, each(text)},
	{"restartPolicy", 24, text},
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

var tolerationTable = table{
	{"key", 1, text}, {"operator", 2, text}, {"value", 3, text}, {"effect", 4, text}, {"tolerationSeconds", 5, integer64},
}

var podTable = table{
	{"metadata", 1, metaTable.convert},
	{"spec", 2, table{
		{"containers", 2, each(containerTable.convert)},
		{"nodeName", 10, text},
		{"initContainers", 20, each(containerTable.convert)},
		{"tolerations", 22, each(tolerationTable.convert)},
		{"readinessGates", 28, each(table{{"conditionType", 1, text}}.convert)},
	}.convert},
	{"status", 3, table{
		{"phase", 1, text},
		{"conditions", 2, each(conditionTable.convert)},
		{"reason", 4, text},
		{"containerStatuses", 8, each(containerStatusTable.convert)},
		{"initContainerStatuses", 10, each(containerStatusTable.convert)},
	}.convert},
}
