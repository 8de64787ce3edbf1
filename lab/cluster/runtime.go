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
)

// Runtime is a node's container runtime. Its containers are only remembered, but they outlive the
// kubelet and end as they are told to; all that follows is the kubelet's doing.
type Runtime struct {
	*fake.RemoteRuntime
	server *grpc.Server
	// node and pods number the addresses of its pods.
	node, pods int
	// stopping is how long containers of a pod take to stop; nil if they stop at once.
	stopping atomic.Pointer[func(pod string) time.Duration]
}

// startRuntime serves the CRI on a socket, for the node of that number.
func startRuntime(socket string, node int) (*Runtime, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen as container runtime: %w", err)
	}
	r := &Runtime{RemoteRuntime: fake.NewFakeRemoteRuntime(), server: grpc.NewServer(), node: node}
	r.RuntimeService.FakeStatus = status(true)
	r.ImageService.SetFakeImageSize(1) // the kubelet does not believe in images of no size
	runtimeapi.RegisterRuntimeServiceServer(r.server, r)
	runtimeapi.RegisterImageServiceServer(r.server, r)
	go func() { _ = r.server.Serve(listener) }() // returns when it is stopped
	return r, nil
}

// RunPodSandbox gives each pod an IPv4 and an IPv6 address of its own, unless it uses the node's network: then the kubelet gives it the node's.
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

// Exit ends a pod's running container with an exit code and a reason, as the container itself or the
// kernel would.
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

// StopSlowly makes the containers of a pod take some time to stop, as one does that finishes its requests first.
func (r *Runtime) StopSlowly(stopping func(pod string) time.Duration) { r.stopping.Store(&stopping) }

// StopContainer stops a container after the time that it takes.
func (r *Runtime) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	if stopping := r.stopping.Load(); stopping != nil {
		select {
		case <-time.After((*stopping)(r.podOf(request.ContainerId))):
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

// podOf is the name of the pod of a container.
func (r *Runtime) podOf(container string) string {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	if c := r.RuntimeService.Containers[container]; c != nil {
		return c.Labels["io.kubernetes.pod.name"]
	}
	return ""
}

// forget ends everything that ran, as a machine that restarts.
func (r *Runtime) forget() {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	clear(r.RuntimeService.Containers)
	clear(r.RuntimeService.Sandboxes)
}

// Network turns the node's network on or off, as far as the kubelet is told.
func (r *Runtime) Network(up bool) {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	r.RuntimeService.FakeStatus = status(up)
}

// status is made anew each time: the one that the kubelet was given may still be on its way.
func status(network bool) *runtimeapi.RuntimeStatus {
	return &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: network},
	}}
}

func (r *Runtime) stop() { r.server.Stop() }
