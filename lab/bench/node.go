package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// imagesPerNode is the kubelet's default for --node-status-max-images.
const imagesPerNode = 50

func (s Size) nodeObject(i int) *corev1.Node {
	node := fromTemplate[corev1.Node](nodeTemplate(), map[string]string{
		"node": s.node(i), "cidr": fmt.Sprintf("10.%d.%d.0/24", 128+i>>8, i&255), "zone": zone(i), "ip": nodeIP(i), "instance": hash("instance", i),
		"machine": hash("machine", i) + hash("id", i), "system": hash("system", i), "boot": hash("boot", i),
	})
	for i := range imagesPerNode {
		name := fmt.Sprintf("registry.example.com/platform/service-%02d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{name + "@sha256:" + digest(name), name + ":2.14." + fmt.Sprint(i)},
			SizeBytes: int64(50_000_000 + i*1_234_567),
		})
	}
	for volume := range 8 {
		name := corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/csi/csi.example.com^vol-%s", hash("volume", i, volume)))
		node.Status.VolumesInUse = append(node.Status.VolumesInUse, name)
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{Name: name})
	}
	return node
}
