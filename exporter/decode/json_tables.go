package decode

// This file lists what is read of JSON.

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
		{"providerID", nodeProviderID, text},
		{"unschedulable", nodeUnschedulable, boolean},
		{"taints", nodeTaints, each(table{
			{"key", 1, text}, {"value", 2, text}, {"effect", 3, text}, {"timeAdded", 4, timestamp},
		}.convert)},
	}.convert},
	{"status", objectStatus, table{
		{"conditions", nodeConditions, each(conditionTable.convert)},
		{"nodeInfo", nodeInfo, table{{"bootID", 3, text}, {"kubeletVersion", 7, text}}.convert},
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
	{"spec", objectSpec, table{
		{"holderIdentity", leaseHolder, text},
		{"leaseDurationSeconds", leaseDuration, integer},
		{"renewTime", leaseRenew, timestamp},
		{"leaseTransitions", leaseTransitions, integer},
	}.convert},
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

var tolerationTable = table{
	{"key", 1, text}, {"operator", 2, text}, {"value", 3, text}, {"effect", 4, text}, {"tolerationSeconds", 5, integer64},
}

var podTable = table{
	{"metadata", objectMeta, metaTable.convert},
	{"spec", objectSpec, table{
		{"containers", specContainers, each(containerTable.convert)},
		{"nodeName", specNodeName, text},
		{"initContainers", specInitContainers, each(containerTable.convert)},
		{"tolerations", specTolerations, each(tolerationTable.convert)},
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
