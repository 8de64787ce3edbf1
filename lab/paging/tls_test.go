package paging

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// secretKey names a key of a Secret.
type secretKey struct{ Name, Key string }

// manifest has the fields of the chart's objects that this test uses.
type manifest struct {
	Kind       string
	StringData map[string]string
	Spec       struct {
		Endpoints []struct {
			Scheme    string
			BasicAuth struct{ Username, Password secretKey }
			TLSConfig struct {
				CA, Cert   struct{ Secret secretKey }
				KeySecret  secretKey
				ServerName string
			}
		}
	}
}

// A real Prometheus must scrape kubeflap with both examples of docs/install/tls.md. The chart renders the web
// configuration and the endpoint from the page's values. kubeflap must refuse clients without the password or
// certificate.
func TestTLSGuideScrapes(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	program, _, err := Build(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/install/tls.md")
	if err != nil {
		t.Fatal(err)
	}
	kubeflap := filepath.Join(t.TempDir(), "kubeflap")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", kubeflap, "./cmd/kubeflap")
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubeflap: %v\n%s", err, output)
	}
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	if len(examples) != 2 {
		t.Fatalf("found %d examples, want 2", len(examples))
	}
	for i, refused := range []string{"401 Unauthorized", "certificate required"} {
		t.Run(refused, func(t *testing.T) {
			scrapesOverTLS(t, program, kubeflap, examples[i][1], refused)
		})
	}
}

// scrapesOverTLS runs one example. refused is the expected response to a client without password and certificate.
func scrapesOverTLS(t *testing.T, program, kubeflap, values, refused string) {
	t.Helper()
	web, monitor := rendered(t, values)
	secrets := secretFiles(t)
	address, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	p := &Paging{options: Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}, dir: t.TempDir()}
	t.Cleanup(p.Stop)
	webConfig, err := p.write("web.yaml", strings.ReplaceAll(web, "/etc/kubeflap/tls", filepath.Join(secrets, "kubeflap-tls")))
	if err != nil {
		t.Fatal(err)
	}
	process, err := cluster.StartProcess("kubeflap", filepath.Join(t.TempDir(), "kubeflap.log"),
		cluster.Command{Path: kubeflap, Args: []string{"demo", "--speed=10", "--web.listen-address=" + address, "--web.config.file=" + webConfig}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Stop)

	config, err := p.write("prometheus.yaml", "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: kubeflap\n  static_configs: [{targets: ["+address+"]}]\n"+
		scrapeSettings(t, monitor, secrets))
	if err != nil {
		t.Fatal(err)
	}
	p.Prometheus, err = p.run(t.Context(), "prometheus", program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(p.dir, "prometheus"))
	if err != nil {
		t.Fatal(err)
	}
	err = poll.Until(t.Context(), time.Minute, "a scrape over TLS", func(ctx context.Context) error {
		found, err := p.Query(ctx, "up == 1 and on () kubeflap_build_info")
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d series\n%s", len(found), process.LogTail())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := askedOverTLS(t, address, secrets); !strings.Contains(got, refused) {
		t.Errorf("response to a client without password and certificate: got %s, want %s", got, refused)
	}
	if response, err := http.Get("http://" + address + "/metrics"); err == nil && response.StatusCode == http.StatusOK { //nolint:noctx // it is refused
		t.Error("kubeflap accepts plain HTTP")
	}
}

// rendered returns the web configuration and the ServiceMonitor of the chart.
func rendered(t *testing.T, values string) (web string, monitor manifest) {
	t.Helper()
	helm := exec.CommandContext(t.Context(), "../../bin/helm", "template", "kubeflap", "../../charts/kubeflap", "--namespace", "kubeflap", "--values", "-")
	helm.Stdin = strings.NewReader(values)
	out, err := helm.Output()
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		var object manifest
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			continue // the ServiceMonitor and the Secret of the web configuration suffice
		}
		switch object.Kind {
		case "Secret":
			web = object.StringData["web-config.yaml"]
		case "ServiceMonitor":
			monitor = object
		}
	}
	if web == "" || len(monitor.Spec.Endpoints) != 1 {
		t.Fatalf("the chart renders no web configuration or no endpoint:\n%s", out)
	}
	return web, monitor
}

// scrapeSettings returns the scrape settings that the Prometheus Operator would generate from the endpoint. Each Secret
// is a directory.
func scrapeSettings(t *testing.T, monitor manifest, secrets string) string {
	t.Helper()
	endpoint := monitor.Spec.Endpoints[0]
	file := func(key secretKey) string { return filepath.Join(secrets, key.Name, key.Key) }
	text := fmt.Sprintf("  scheme: %s\n  tls_config: {ca_file: %s, server_name: %s", endpoint.Scheme, file(endpoint.TLSConfig.CA.Secret), endpoint.TLSConfig.ServerName)
	if cert := endpoint.TLSConfig.Cert.Secret; cert.Name != "" {
		text += fmt.Sprintf(", cert_file: %s, key_file: %s", file(cert), file(endpoint.TLSConfig.KeySecret))
	}
	text += "}\n"
	if login := endpoint.BasicAuth; login.Username.Name != "" {
		username, err := os.ReadFile(file(login.Username))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  basic_auth: {username: %s, password_file: %s}\n", username, file(login.Password))
	}
	return text
}

// askedOverTLS requests kubeflap's metrics without credentials. It returns the status of the response, or the error.
func askedOverTLS(t *testing.T, address, secrets string) string {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(secrets, "kubeflap-tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "kubeflap.kubeflap.svc", MinVersion: tls.VersionTLS13}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	return response.Status
}

// secretFiles writes a directory for each Secret of the page, with the content from cert-manager and kubectl.
func secretFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(secret, key string, text []byte) {
		if err := os.MkdirAll(filepath.Join(dir, secret), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, secret, key), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("kubeflap-scrape", "username", []byte("flaps"))
	write("kubeflap-scrape", "password", []byte("change me"))
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubeflap-ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	issuerKey, issuerPEM, _ := certificate(t, issuer, issuer, nil)
	for secret, template := range map[string]*x509.Certificate{
		"kubeflap-tls":    {SerialNumber: big.NewInt(2), DNSNames: []string{"kubeflap.kubeflap.svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"kubeflap-client": {SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "prometheus"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	} {
		_, certPEM, keyPEM := certificate(t, template, issuer, issuerKey)
		write(secret, "ca.crt", issuerPEM)
		write(secret, "tls.crt", certPEM)
		write(secret, "tls.key", keyPEM)
	}
	return dir
}

// certificate creates a key and a certificate. Without an issuer, the certificate is self-signed.
func certificate(t *testing.T, template, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey) (key *ecdsa.PrivateKey, certPEM, keyPEM []byte) {
	t.Helper()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if issuerKey == nil {
		issuerKey = key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
