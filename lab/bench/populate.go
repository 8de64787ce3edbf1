package bench

import (
	"context"
	"crypto/sha256"
	_ "embed" // embeds fixtures.go
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// writers is the maximum number of concurrent requests while a cluster is being filled.
const writers = 32

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

// filling creates the objects of a cluster.
type filling struct {
	size   Size
	client kubernetes.Interface
	uids   []types.UID // of the pods
}

func newFilling(ctx context.Context, size Size, config *rest.Config) (*filling, error) {
	client, err := protobufClient(config)
	if err != nil {
		return nil, err
	}
	f := &filling{size: size, client: client, uids: make([]types.UID, size.Pods)}
	names := []string{corev1.NamespaceNodeLease}
	for i := range size.namespaces() {
		names = append(names, size.namespace(i*servicesPerNamespace))
	}
	for _, name := range names {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return f, nil
}

// protobufClient returns a client that uses protobuf, as components of the control plane do.
func protobufClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return client, nil
}

func (f *filling) to(ctx context.Context, part Size) error {
	steps := []struct {
		what  string
		n     int
		write func(context.Context, int) error
	}{
		{"node", part.Nodes, f.node},
		{"pod", part.Pods, f.pod},
		{"Service", part.Services, f.service},
	}
	for _, step := range steps {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(writers)
		for i := 0; i < step.n && ctx.Err() == nil; i++ {
			group.Go(func() error {
				if err := step.write(ctx, i); err != nil {
					return fmt.Errorf("write %s %d: %w", step.what, i, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f *filling) node(ctx context.Context, i int) error {
	nodes := f.client.CoreV1().Nodes()
	object := f.size.nodeObject(i)
	node, err := nodes.Create(ctx, object, metav1.CreateOptions{FieldManager: byKubelet})
	if err != nil {
		return err
	}
	node.Status = object.Status
	if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{FieldManager: byKubelet}); err != nil {
		return err
	}
	_, err = f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, leaseObject(node), metav1.CreateOptions{FieldManager: byKubelet})
	return err
}

// pod creates a pod as a controller does, and updates its status as a kubelet does.
func (f *filling) pod(ctx context.Context, i int) error {
	object := f.size.podObject(i)
	pods := f.client.CoreV1().Pods(object.Namespace)
	pod, err := pods.Create(ctx, object, metav1.CreateOptions{FieldManager: byControllerManager})
	if err != nil {
		return err
	}
	f.uids[i], pod.Status = pod.UID, object.Status
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: byKubelet})
	return err
}

// service creates a Service. It also creates the Endpoints and the EndpointSlice, as the controllers do.
func (f *filling) service(ctx context.Context, i int) error {
	object, members := f.size.serviceObject(i), f.size.members(i, f.uids)
	service, err := f.client.CoreV1().Services(object.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: byHelm})
	if err != nil {
		return err
	}
	options := metav1.CreateOptions{FieldManager: byControllerManager}
	if _, err := f.client.CoreV1().Endpoints(service.Namespace).Create(ctx, endpointsObject(service, members), options); err != nil {
		return err
	}
	_, err = f.client.DiscoveryV1().EndpointSlices(service.Namespace).Create(ctx, sliceObject(service, members), options)
	return err
}

// populated returns a directory for cluster.Options.Data. It contains the data of a cluster with all objects of the
// given size. If the cache does not contain this data yet, populated creates it.
func (o Options) populated(ctx context.Context, size Size) (string, error) {
	key, err := size.key()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(o.Cache, "filled-"+size.Name+"-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	o.Log.Info("filling a cluster, which is then cached", "size", size.Name, "with", size)
	begin := time.Now()
	c, err := cluster.Start(ctx, clusterOptions(o.Log, ""))
	if err != nil {
		return "", err
	}
	defer c.Stop()
	f, err := newFilling(ctx, size, c.Config)
	if err != nil {
		return "", err
	}
	if err := f.to(ctx, size.first()); err != nil {
		return "", fmt.Errorf("fill a cluster with %s: %w", size.first(), err)
	}
	t, err := newFixtures(ctx, f)
	if err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(o.Cache, "unfinished-")
	if err != nil {
		return "", fmt.Errorf("create a directory for the cluster's data: %w", err)
	}
	defer os.RemoveAll(unfinished)
	if err := c.SaveData(ctx, unfinished); err != nil {
		return "", err
	}
	if err := t.write(unfinished); err != nil {
		return "", fmt.Errorf("fill a cluster with %s: %w", size, err)
	}
	if err := o.keep(unfinished, dir, size); err != nil {
		return "", fmt.Errorf("keep the cluster's data: %w", err)
	}
	o.Log.Info("filled a cluster", "size", size.Name, "took", time.Since(begin).Round(time.Second))
	return dir, nil
}

func (o Options) keep(data, dir string, size Size) error {
	before, err := filepath.Glob(filepath.Join(o.Cache, "filled-"+size.Name+"-*"))
	if err != nil {
		return err
	}
	for _, old := range before {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	return os.Rename(data, dir)
}

// fixturesSource is the source code that creates the objects. If it changes, cached data is no longer used.
//
//go:embed fixtures.go
var fixturesSource string

// key returns the cache key of a cluster's data. It is a hash of the code that creates the objects, and of some
// objects.
func (s Size) key() (string, error) {
	service := s.serviceObject(0)
	node := s.nodeObject(0)
	members := []member{s.member(0, "")}
	sum := sha256.New()
	sum.Write([]byte(fixturesSource))
	for _, part := range []any{
		cluster.Newest, s, node, leaseObject(node), s.podObject(0), service, endpointsObject(service, members), sliceObject(service, members),
	} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", fmt.Errorf("encode the cluster's objects: %w", err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}
