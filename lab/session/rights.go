package session

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// grantRights creates kubeflap's account with exactly the permissions in the manifest. The lab thereby also tests that
// these permissions suffice.
func (s *Session) grantRights(ctx context.Context) error {
	if s.options.Kubeflap == "" {
		return nil
	}
	text, err := os.ReadFile(s.options.Manifest)
	if err != nil {
		return fmt.Errorf("read kubeflap's permissions: %w", err)
	}
	manifests, err := cluster.Manifests(text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.options.Manifest, err)
	}
	var account *cluster.Manifest
	var rights []cluster.Manifest
	for _, m := range manifests {
		switch m.GetKind() {
		case "ServiceAccount":
			account = &m
			fallthrough
		case "Namespace", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			rights = append(rights, m)
		}
	}
	if account == nil {
		return fmt.Errorf("%s has no ServiceAccount", s.options.Manifest)
	}
	if err := s.Cluster.Apply(ctx, account.GetNamespace(), rights); err != nil {
		return err
	}
	s.account, err = s.Cluster.AccountKubeconfig(ctx, account.GetNamespace(), account.GetName())
	if err != nil {
		return err
	}
	if s.scenario.KubeflapOn > 0 {
		if s.account, err = s.Cluster.KubeconfigAt(s.scenario.KubeflapOn, s.account); err != nil {
			return err
		}
	}
	return waitForRights(ctx, s.account)
}

// waitForRights waits until the account has its permissions. The API server's authorizer reads permissions from a
// cache.
func waitForRights(ctx context.Context, account string) error {
	config, err := clientcmd.BuildConfigFromFlags("", account)
	if err != nil {
		return fmt.Errorf("read the account's kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return poll.Until(ctx, patience, "kubeflap's rights", func(ctx context.Context) error {
		_, err1 := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		_, err2 := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{Limit: 1})
		return errors.Join(err1, err2)
	})
}
