//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	cri "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"
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
