package session

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// startKubeflap starts the kubeflap under test and, if requested, a recording. It waits until both have seen all objects.
func (s *Session) startKubeflap() {
	through := s.account
	if s.scenario.Proxied {
		through = s.startProxy()
	}
	address := cluster.FreePort()
	run := s.start("kubeflap", "run", "--kubeconfig="+through, "--web.listen-address="+address)
	s.URL = "http://" + address
	s.Must(run.Until(s.Ctx, patience, "kubeflap to be ready", func(ctx context.Context) error { return compare.Ready(ctx, s.URL) }))
	if s.options.Record != "" {
		s.startRecording(through)
	}
}

// startProxy starts a proxy for kubeflap, and writes a kubeconfig that uses this proxy with kubeflap's permissions.
func (s *Session) startProxy() (kubeconfig string) {
	s.Proxy = proxy.Start(s.Cluster.Config)
	kubeconfig = s.account + ".proxy"
	s.Proxy.Kubeconfig(s.account, kubeconfig)
	return kubeconfig
}

func (s *Session) start(name string, args ...string) *cluster.Process {
	p := cluster.StartProcess(name, s.Cluster.LogPath(name), cluster.Command{Path: s.options.Kubeflap, Args: args})
	s.kubeflap = append(s.kubeflap, p)
	return p
}

// manifests is the path of the manifests rendered from the chart, relative to the lab's directory. Those that match rights
// create kubeflap's account with its permissions.
const manifests = "../deploy/kubeflap.yaml"

var rights = regexp.MustCompile(`(?m)^kind: (Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$`)

// grantRights creates kubeflap's account with exactly the permissions in the manifests. The lab thereby also tests that
// these permissions suffice. It waits until the account has them, because the API server's authorizer reads permissions
// from a cache.
func (s *Session) grantRights() {
	var granted []string
	for document := range strings.SplitSeq(string(steps.Value(os.ReadFile(manifests))), "\n---\n") {
		if rights.MatchString(document) {
			granted = append(granted, document)
		}
	}
	s.Cluster.Apply(s.Ctx, strings.Join(granted, "\n---\n"))
	s.account = s.Cluster.AccountKubeconfig(s.Ctx, "kubeflap", "kubeflap")
	client := steps.Value(kubernetes.NewForConfig(steps.Value(clientcmd.BuildConfigFromFlags("", s.account))))
	s.Until("kubeflap's rights", func(l *scenario.Lab) {
		_, err1 := client.CoreV1().Nodes().List(l.Ctx, metav1.ListOptions{Limit: 1})
		_, err2 := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(l.Ctx, metav1.ListOptions{Limit: 1})
		l.Must(errors.Join(err1, err2))
	})
}

// stillFor is the required time without writes. If a component sent a request just before it was paused, the request
// arrives within this time.
const stillFor = 500 * time.Millisecond

// withWritersPaused pauses the kubelets and the controller manager while the function do runs, and waits until no object
// has changed for the duration stillFor. If only the kubelets were paused, the controller manager would set the nodes to
// Unknown.
func (s *Session) withWritersPaused(do func()) {
	writers := []*cluster.Process{s.Cluster.ControllerManager}
	for _, kubelet := range s.Cluster.Kubelets {
		writers = append(writers, kubelet)
	}
	for _, writer := range writers {
		writer.Pause()
		defer func() { writer.Resume() }()
	}
	client := steps.Value(metadata.NewForConfig(s.Cluster.Config))
	s.Until("all writes to the cluster to end", func(l *scenario.Lab) {
		before := versions(l, client)
		l.Sleep(stillFor)
		l.Expect(maps.Equal(before, versions(l, client)), "an object was written")
	})
	do()
}

// versions returns the resource versions of all objects that kubeflap watches, by the object's UID.
func versions(l *scenario.Lab, client metadata.Interface) map[string]string {
	all := map[string]string{}
	for resource, namespace := range map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "nodes"}:                                     "",
		{Version: "v1", Resource: "pods"}:                                      "",
		{Version: "v1", Resource: "services"}:                                  "",
		{Version: "v1", Resource: "endpoints"}:                                 "",
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}: "",
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:      corev1.NamespaceNodeLease,
		{Group: "apps", Version: "v1", Resource: "deployments"}:                "",
		{Group: "apps", Version: "v1", Resource: "statefulsets"}:               "",
	} {
		list := steps.Value(client.Resource(resource).Namespace(namespace).List(l.Ctx, metav1.ListOptions{}))
		for _, object := range list.Items {
			all[string(object.UID)] = object.ResourceVersion
		}
	}
	return all
}
