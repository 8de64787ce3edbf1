package cluster

import (
	"context"
	_ "embed" // embeds the module files, so that the lab works in any directory
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Release is a version of Kubernetes that the lab can run.
type Release string

// These are the newest and the oldest release with which kubeflap is tested.
const (
	Newest Release = "v1.37.2"
	Oldest Release = "v1.31.0"
)

// Releases returns the releases that the lab can run, newest first.
func Releases() []Release { return []Release{Newest, Oldest} }

// DefaultGrace returns the default --node-monitor-grace-period of the node controller.
func (r Release) DefaultGrace() time.Duration {
	if r == Oldest {
		return 40 * time.Second
	}
	return 50 * time.Second
}

// These variables hold embedded files.
var (
	//go:embed kubernetes-v1.37.mod
	newestMod string
	//go:embed kubernetes-v1.37.sum
	newestSum string
	//go:embed kubernetes-v1.31.mod
	oldestMod string
	//go:embed kubernetes-v1.31.sum
	oldestSum string
	// The lab has its own kubelet program, because kubemark's kubelet does not run probes. Each release has its own
	// file runtime_*.go.
	//go:embed kubelet/main.go
	kubeletMain string
	//go:embed kubelet/runtime_v1.37.go
	newestRuntime string
	//go:embed kubelet/runtime_v1.31.go
	oldestRuntime string
	//go:embed etcd.mod
	etcdMod string
	//go:embed etcd.sum
	etcdSum string
)

func (r Release) module() Module {
	const version = "k8s.io/component-base/version."
	m := Module{
		Mod: newestMod, Sum: newestSum,
		// Without these flags the server reports version v0.0.0, and clients assume a very old server.
		LDFlags: fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s",
			version, r, strings.Split(string(r), ".")[1]),
		Sources: map[string]string{"main.go": kubeletMain, "runtime.go": newestRuntime},
		Programs: map[string][]string{
			"kube-apiserver":          {"k8s.io/kubernetes/cmd/kube-apiserver"},
			"kube-controller-manager": {"k8s.io/kubernetes/cmd/kube-controller-manager"},
			"kubelet":                 {"main.go", "runtime.go"},
		},
	}
	if r == Oldest {
		m.Mod, m.Sum, m.Sources["runtime.go"] = oldestMod, oldestSum, oldestRuntime
	}
	return m
}

// Build returns the programs of a release. The first build takes minutes. Later calls use the programs in the user's
// cache.
func Build(ctx context.Context, log *slog.Logger, release Release) Binaries {
	etcd := Module{
		Mod: etcdMod, Sum: etcdSum, LDFlags: "-s -w",
		Programs: map[string][]string{"etcd": {"go.etcd.io/etcd/server/v3"}},
	}
	return BuildModules(ctx, log, "kubernetes-"+string(release), []Module{etcd, release.module()})
}
