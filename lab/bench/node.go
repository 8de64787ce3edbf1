package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// imagesPerNode is the kubelet's default for --node-status-max-images.
const imagesPerNode = 50

func (s Size) nodeObject(node int) *corev1.Node {
	name := s.node(node)
	cidr := fmt.Sprintf("10.%d.%d.0/24", 128+node>>8, node&255)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				corev1.LabelTopologyZone: zone(node), corev1.LabelTopologyRegion: region, corev1.LabelInstanceTypeStable: "m6i.2xlarge",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "node.example.com/pool": "general",
			},
			Annotations: map[string]string{
				"volumes.kubernetes.io/controller-managed-attach-detach": "true", "node.alpha.kubernetes.io/ttl": "0",
				"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"csi.example.com":"i-%s"}`, hash("instance", node)),
			},
		},
		Spec:   corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}, ProviderID: "aws:///" + zone(node) + "/i-" + hash("instance", node)},
		Status: nodeStatus(name, node),
	}
}

func nodeStatus(name string, node int) corev1.NodeStatus {
	status := corev1.NodeStatus{
		Capacity: nodeResources("8", "32Gi"), Allocatable: nodeResources("7910m", "29Gi"),
		Conditions: nodeConditions(),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeIP(node)},
			{Type: corev1.NodeHostName, Address: name},
			{Type: corev1.NodeInternalDNS, Address: name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: hash("machine", node) + hash("id", node), SystemUUID: hash("system", node), BootID: hash("boot", node),
			KernelVersion: "6.12.30", OSImage: "Debian GNU/Linux 13 (trixie)", ContainerRuntimeVersion: "containerd://2.1.4",
			KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64",
		},
		RuntimeHandlers: []corev1.NodeRuntimeHandler{{Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: new(true)}}, {Name: "runc"}},
	}
	for i := range imagesPerNode {
		name := fmt.Sprintf("registry.example.com/platform/service-%02d", i)
		status.Images = append(status.Images, corev1.ContainerImage{
			Names:     []string{name + "@sha256:" + digest(name), name + ":2.14." + fmt.Sprint(i)},
			SizeBytes: int64(50_000_000 + i*1_234_567),
		})
	}
	for i := range 8 {
		volume := fmt.Sprintf("kubernetes.io/csi/csi.example.com^vol-%s", hash("volume", node, i))
		status.VolumesInUse = append(status.VolumesInUse, corev1.UniqueVolumeName(volume))
		status.VolumesAttached = append(status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(volume)})
	}
	return status
}

func nodeResources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
		"hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
	}
}

func nodeConditions() []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: started(), LastTransitionTime: started(),
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "RouteCreated", "RouteController created a route"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}
