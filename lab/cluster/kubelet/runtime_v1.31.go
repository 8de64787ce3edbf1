//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	model "github.com/google/cadvisor/info/v1"
	"go.opentelemetry.io/otel/trace/noop"
	cri "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// reachRuntime connects to the container runtime and to its image service.
func reachRuntime(_ context.Context, endpoint string) (cri.RuntimeService, cri.ImageManagerService, error) {
	const timeout = 15 * time.Second
	runtime, err := remote.NewRemoteRuntimeService(endpoint, timeout, noop.NewTracerProvider(), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the container runtime: %w", err)
	}
	images, err := remote.NewRemoteImageService(endpoint, timeout, noop.NewTracerProvider(), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the image service: %w", err)
	}
	return runtime, images, nil
}

// machine is kubemark's fake machine with a boot ID, as every real machine has.
type machine struct {
	cadvisor.Fake
	bootID string
}

// MachineInfo returns the machine's data, which the kubelet reports in its Node status.
func (m *machine) MachineInfo() (*model.MachineInfo, error) {
	info, err := m.Fake.MachineInfo()
	if err == nil {
		info.BootID = m.bootID
	}
	return info, err
}
