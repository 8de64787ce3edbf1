package cluster

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Runtime is the fake container runtime of a node. It only stores the state of containers, and does not run them. The
// containers outlive the kubelet, and a scenario can make them exit.
type Runtime struct {
	*fake.RemoteRuntime
	server *grpc.Server
	// node is the number of the node. pods is the number of pods so far. Both are part of the pods' IP addresses.
	node, pods int
	// stopping holds how long the containers of a pod take to stop, by the pod's name. Other containers stop immediately.
	stopping atomic.Pointer[map[string]time.Duration]
}

// startRuntime serves the CRI on a socket. The parameter node is the number of the node.
func startRuntime(socket string, node int) *Runtime {
	listener := steps.Value(net.Listen("unix", socket))
	r := &Runtime{RemoteRuntime: fake.NewFakeRemoteRuntime(), server: grpc.NewServer(), node: node}
	r.RuntimeService.FakeStatus = status(true)
	r.ImageService.SetFakeImageSize(1) // the kubelet ignores images without a size
	runtimeapi.RegisterRuntimeServiceServer(r.server, r)
	runtimeapi.RegisterImageServiceServer(r.server, r)
	go func() { _ = r.server.Serve(listener) }() // returns after server.Stop
	return r
}

// RunPodSandbox gives each pod its own IPv4 and IPv6 address, except pods in the host network.
func (r *Runtime) RunPodSandbox(ctx context.Context, request *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	answer, err := r.RemoteRuntime.RunPodSandbox(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("run sandbox: %w", err)
	}
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	if request.GetConfig().GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE {
		r.RuntimeService.Sandboxes[answer.PodSandboxId].Network = &runtimeapi.PodSandboxNetworkStatus{}
		return answer, nil
	}
	r.pods++
	r.RuntimeService.Sandboxes[answer.PodSandboxId].Network = &runtimeapi.PodSandboxNetworkStatus{
		Ip:            fmt.Sprintf("10.%d.%d.%d", 100+r.node, r.pods/250, 1+r.pods%250),
		AdditionalIps: []*runtimeapi.PodIP{{Ip: fmt.Sprintf("fd00:%x::%x", r.node, r.pods)}},
	}
	return answer, nil
}

// Exit ends a running container of a pod, as if the container exited or the kernel killed it.
func (r *Runtime) Exit(namespace, pod string, code int32, reason string) error {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	for _, c := range r.RuntimeService.Containers {
		if c.Labels["io.kubernetes.pod.namespace"] == namespace && c.Labels["io.kubernetes.pod.name"] == pod &&
			c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			c.State, c.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
			c.ExitCode, c.Reason = code, reason
			return nil
		}
	}
	return fmt.Errorf("no container of pod %s/%s is running", namespace, pod)
}

// StopSlowly sets how long the containers of each pod take to stop, for example to complete requests.
func (r *Runtime) StopSlowly(delays map[string]time.Duration) { r.stopping.Store(&delays) }

// StopContainer waits for the time that StopSlowly has set for the pod, and then stops the container.
func (r *Runtime) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	if delays := r.stopping.Load(); delays != nil {
		select {
		case <-time.After((*delays)[r.podOf(request.ContainerId)]):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	answer, err := r.RemoteRuntime.StopContainer(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("stop container: %w", err)
	}
	return answer, nil
}

// podOf returns the name of a container's pod.
func (r *Runtime) podOf(container string) string {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	if c := r.RuntimeService.Containers[container]; c != nil {
		return c.Labels["io.kubernetes.pod.name"]
	}
	return ""
}

// forget removes all containers and sandboxes, as a reboot does.
func (r *Runtime) forget() {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	clear(r.RuntimeService.Containers)
	clear(r.RuntimeService.Sandboxes)
}

// Network sets the network status that the runtime reports to the kubelet.
func (r *Runtime) Network(up bool) {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	r.RuntimeService.FakeStatus = status(up)
}

// status returns a new object each time, because the gRPC server may still be using the previous one.
func status(network bool) *runtimeapi.RuntimeStatus {
	ready := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: network}
	if !network {
		ready.Reason, ready.Message = "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized" // as containerd says it
	}
	return &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{{Type: runtimeapi.RuntimeReady, Status: true}, ready}}
}

func (r *Runtime) stop() { r.server.Stop() }
