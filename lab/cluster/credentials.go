package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// These are the users of the cluster. All are in the group system:masters. Their names identify the clients in the API
// server's log.
const (
	userAdmin             = "admin"
	userControllerManager = "system:kube-controller-manager"
	userKubelet           = "kubelet"
)

// writeCredentials creates a token for each user, and returns the tokens by user. It also creates the key with which
// the API server signs ServiceAccount tokens.
func (c *Cluster) writeCredentials() map[string]string {
	tokens := map[string]string{}
	var lines strings.Builder
	for _, user := range []string{userAdmin, userControllerManager, userKubelet} {
		tokens[user] = rand.Text()
		fmt.Fprintf(&lines, "%s,%s,%s,system:masters\n", tokens[user], user, user)
	}
	key := x509.MarshalPKCS1PrivateKey(steps.Value(rsa.GenerateKey(rand.Reader, 2048)))
	steps.Must(
		os.WriteFile(c.path("tokens.csv"), []byte(lines.String()), 0o600),
		os.WriteFile(c.path("service-account.key"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: key}), 0o600),
	)
	return tokens
}

// tokenLasts is the lifetime of tokens. It is long, because some users keep a cluster running for days.
const tokenLasts = 7 * 24 * time.Hour

// AccountKubeconfig writes a kubeconfig with the permissions of a ServiceAccount, and returns its path.
func (c *Cluster) AccountKubeconfig(ctx context.Context, namespace, name string) (path string) {
	seconds := int64(tokenLasts.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	token := steps.Value(c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{}))
	path = c.kubeconfig(namespace + "-" + name)
	writeKubeconfig(path, c.Config.Host, c.Config.CAFile, token.Status.Token)
	return path
}

func (c *Cluster) kubeconfig(user string) string {
	return c.path(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
}

func writeKubeconfig(path, address, certificate, token string) {
	const name = "lab"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: address, CertificateAuthority: certificate}
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	steps.Must(clientcmd.WriteToFile(*config, path))
}
