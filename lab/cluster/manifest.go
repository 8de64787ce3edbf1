package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Apply creates or updates the objects of a YAML stream as kubectl apply does. The API server refuses unknown fields. The
// binary is in bin/, which make builds, relative to the lab's directory.
func (c *Cluster) Apply(ctx context.Context, manifests string) {
	cmd := exec.CommandContext(ctx, "../bin/kubectl", "apply", "--server-side", "--validate=strict", "--kubeconfig="+c.Kubeconfig, "--filename=-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		steps.Must(fmt.Errorf("kubectl apply: %w\n%s", err, out))
	}
}
