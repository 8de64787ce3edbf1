package cluster

import (
	"context"
	_ "embed" // the module files are part of the lab, so that it builds from any folder
	"fmt"
	"log/slog"
	"strings"
)

// Version is the version of Kubernetes that the lab runs.
const Version = "v1.36.3"

// Only what is read at build time is embedded; no variable here is ever written.
var (
	//go:embed kubernetes.mod
	kubernetesMod string
	//go:embed kubernetes.sum
	kubernetesSum string
	//go:embed etcd.mod
	etcdMod string
	//go:embed etcd.sum
	etcdSum string
)

func modules() []Module {
	const version = "k8s.io/component-base/version."
	// Without these the server calls itself v0.0.0 and clients take it for an ancient one.
	stamp := fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s",
		version, Version, strings.Split(Version, ".")[1])
	return []Module{
		{Mod: etcdMod, Sum: etcdSum, LDFlags: "-s -w", Programs: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"}},
		{Mod: kubernetesMod, Sum: kubernetesSum, LDFlags: stamp, Programs: map[string]string{
			"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
			"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
			"kubemark":                "k8s.io/kubernetes/cmd/kubemark",
		}},
	}
}

// Build returns the components, built once for each version and kept in the
// user's cache. The first time takes some minutes.
func Build(ctx context.Context, log *slog.Logger) (Binaries, error) {
	return BuildModules(ctx, log, "kubernetes-"+Version, modules())
}
