//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/cadvisor/lib/model"
	"go.opentelemetry.io/otel/trace/noop"
	cri "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"
	"k8s.io/klog/v2"
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// reachRuntime connects to the container runtime and to its image service.
func reachRuntime(ctx context.Context, endpoint string) (cri.RuntimeService, cri.ImageManagerService, error) {
	const timeout = 15 * time.Second
	runtime, err := remote.NewRemoteRuntimeService(ctx, endpoint, timeout, noop.NewTracerProvider(), false)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the container runtime: %w", err)
	}
	images, err := remote.NewRemoteImageService(ctx, endpoint, timeout, noop.NewTracerProvider(), false)
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
func (m *machine) MachineInfo(logger klog.Logger) (*model.MachineInfo, error) {
	info, err := m.Fake.MachineInfo(logger)
	if err == nil {
		info.BootID = m.bootID
	}
	return info, err
}
