package paging

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	alertmanagerExample = "alertmanager.yaml"
	// examplePage is where the shipped rules say that kubeflap's page is. As the user
	// does, the lab puts its own there.
	examplePage = "https://kubeflap.example.com"
)

var (
	receiverURL = regexp.MustCompile(`(?m)^(\s*(?:- )?url:).*$`)
	groupWait   = regexp.MustCompile(`(?m)^\s*group_wait:\s*(\S+)`)
)

// writeAlertmanagerConfig is the shipped example with the lab's receiver in it.
func (p *Paging) writeAlertmanagerConfig() (path string, err error) {
	shipped, err := os.ReadFile(filepath.Join(p.options.Rules, alertmanagerExample))
	if err != nil {
		return "", fmt.Errorf("read Alertmanager's example: %w", err)
	}
	if !receiverURL.Match(shipped) {
		return "", errors.New("Alertmanager's example has no url of a receiver")
	}
	for _, found := range groupWait.FindAllSubmatch(shipped, -1) {
		wait, err := time.ParseDuration(string(found[1]))
		if err != nil {
			return "", fmt.Errorf("read Alertmanager's example: %w", err)
		}
		p.GroupWait = max(p.GroupWait, wait)
	}
	return p.write(alertmanagerExample, receiverURL.ReplaceAllString(string(shipped), "$1 "+p.Receiver.URL))
}

// prometheusConfig also finds targets in the hand-written addresses of the Services of
// kube-system, with the labels that the Operator gives them, as of the scheduler's in the incident.
const prometheusConfig = `
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: ["%[2]s/*.yaml"]
alerting: {alertmanagers: [{static_configs: [{targets: ["%[3]s"]}]}]}
scrape_configs:
- job_name: kubeflap
  static_configs: [{targets: ["%[4]s"]}]
- job_name: services
  kubernetes_sd_configs: [{role: endpoints, kubeconfig_file: "%[5]s"}]
  relabel_configs:
  - {action: keep, source_labels: [__meta_kubernetes_namespace, __meta_kubernetes_endpoint_address_target_kind], regex: "kube-system;"}
  - {target_label: namespace, source_labels: [__meta_kubernetes_namespace]}
  - {target_label: service, source_labels: [__meta_kubernetes_service_name]}
  - {target_label: job, source_labels: [__meta_kubernetes_service_name]}
`

func (p *Paging) writePrometheusConfig() (path string, err error) {
	rules := filepath.Join(p.dir, "rules")
	if err := os.Mkdir(rules, 0o755); err != nil {
		return "", fmt.Errorf("create a folder for the rules: %w", err)
	}
	shipped, err := filepath.Glob(filepath.Join(p.options.Rules, "*.yaml"))
	if err != nil {
		return "", fmt.Errorf("find the rules: %w", err)
	}
	for _, file := range shipped {
		if filepath.Base(file) == alertmanagerExample {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read rules: %w", err)
		}
		ours := strings.ReplaceAll(string(text), examplePage, "http://"+p.options.Kubeflap)
		if _, err := p.write(filepath.Join("rules", filepath.Base(file)), ours); err != nil {
			return "", err
		}
	}
	return p.write("prometheus.yaml", fmt.Sprintf(prometheusConfig, Interval, rules,
		strings.TrimPrefix(p.Alertmanager, "http://"), p.options.Kubeflap, p.options.Kubeconfig))
}

func (p *Paging) write(name, text string) (path string, err error) {
	path = filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
