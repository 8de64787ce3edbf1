package main

import (
	"context"
	"crypto/sha256"
	_ "embed" // embeds fixtures.go
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// clusterOptions returns the options for a cluster without controllers or kubelets. Only the bench writes to it.
func clusterOptions(log *slog.Logger, data string) cluster.Options {
	return cluster.Options{
		NoControllerManager: true, Data: data, Log: log,
		// The control plane must not take CPU time from the measured program. In production, it runs on other machines.
		Nice: 10,
		// Without this flag, new nodes get a taint. There is no node controller to remove it.
		APIServerFlags: []string{"--disable-admission-plugins=TaintNodesByCondition"},
		// The API server keeps two copies of all pods, which take 9.6 GB with 150,000 pods. Without a limit, its memory
		// would double before it collects garbage. A machine with 24 GiB would then have no memory left.
		APIServerMemory: "11GiB",
	}
}

// protobufClient returns a client that uses protobuf, as components of the control plane do.
func protobufClient(config *rest.Config) kubernetes.Interface {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	return steps.Value(kubernetes.NewForConfig(config))
}

// populated returns a directory for cluster.Options.Data. It contains the data of a cluster with all objects of the
// given size. If the cache does not contain this data yet, populated creates it.
func (o *Options) populated(ctx context.Context, size Size) string {
	cache := filepath.Join(steps.Value(os.UserCacheDir()), "kubeflap-lab")
	dir := filepath.Join(cache, "filled-"+size.Name+"-"+size.key())
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	o.Log.Info("filling a cluster, which is then cached", "size", size.Name, "with", size)
	begin := time.Now()
	c := steps.Value(cluster.Start(ctx, clusterOptions(o.Log, "")))
	defer c.Stop()
	t := &fixtures{size: size, client: protobufClient(c.Config), uids: make([]types.UID, size.Pods)}
	names := []string{corev1.NamespaceNodeLease}
	for i := range size.namespaces() {
		names = append(names, size.namespace(i*servicesPerNamespace))
	}
	for _, name := range names {
		_, err := t.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			steps.Must(err)
		}
	}
	t.createFirst(ctx)
	unfinished := steps.Value(os.MkdirTemp(cache, "unfinished-"))
	defer os.RemoveAll(unfinished)
	c.SaveData(ctx, unfinished)
	t.writeRest(unfinished)
	// Remove outdated data of this size.
	for _, old := range steps.Value(filepath.Glob(filepath.Join(cache, "filled-"+size.Name+"-*"))) {
		steps.Must(os.RemoveAll(old))
	}
	steps.Must(os.Rename(unfinished, dir))
	o.Log.Info("filled a cluster", "size", size.Name, "took", time.Since(begin).Round(time.Second))
	return dir
}

// fixturesSource is the source code that creates the objects. If it changes, cached data is no longer used.
//
//go:embed fixtures.go
var fixturesSource string

// key returns the cache key of a cluster's data. It is a hash of the code that creates the objects, and of some
// objects.
func (s Size) key() string {
	node, service, members := s.nodeObject(0), s.serviceObject(0), []member{s.member(0, "")}
	sum := sha256.New()
	sum.Write([]byte(fixturesSource))
	sum.Write(steps.Value(json.Marshal([]any{
		cluster.Newest, s, node, leaseObject(node), s.podObject(0), service, endpointsObject(service, members), sliceObject(service, members),
	})))
	return hex.EncodeToString(sum.Sum(nil))[:12]
}
