package paging

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	alertmanagerExample  = "alertmanager.yaml"
	alertmanagerTemplate = "alertmanager.tmpl"
	// examplePage is the URL of kubeflap's web page in the shipped rules. The lab replaces it with the real URL, as
	// users do.
	examplePage = "https://kubeflap.example.org"
)

var (
	receiverURL = regexp.MustCompile(`(?m)^(\s*(?:- )?(?:api_)?url:).*$`)
	// timeIntervals matches lines that restrict a route to certain times.
	timeIntervals = regexp.MustCompile(`(?m)^\s*(?:active|mute)_time_intervals:.*\n`)
	groupWait     = regexp.MustCompile(`(?m)^\s*group_wait:\s*(\S+)`)
)

// writeAlertmanagerConfig writes the shipped Alertmanager configuration with the lab's receiver. It removes time
// intervals, because the lab runs at any time of day.
func (p *Paging) writeAlertmanagerConfig() (path string, err error) {
	if _, err := p.ship(alertmanagerTemplate, func(text string) string { return text }); err != nil {
		return "", err
	}
	path, err = p.ship(alertmanagerExample, func(text string) string {
		return receiverURL.ReplaceAllString(timeIntervals.ReplaceAllString(text, ""), "$1 "+p.Receiver.URL)
	})
	if err != nil {
		return "", err
	}
	written, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read Alertmanager's example: %w", err)
	}
	for _, found := range groupWait.FindAllSubmatch(written, -1) {
		wait, err := time.ParseDuration(string(found[1]))
		if err != nil {
			return "", fmt.Errorf("read Alertmanager's example: %w", err)
		}
		p.GroupWait = max(p.GroupWait, wait)
	}
	return path, nil
}

// prometheusConfig sets the target labels that the Prometheus Operator would set. It makes Prometheus scrape kubeflap,
// and the addresses in kube-system that do not refer to a pod. The scenario endpoints-reset writes such addresses.
const prometheusConfig = `
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [%[2]s]
alerting: {alertmanagers: [{static_configs: [{targets: ["%[3]s"]}]}]}
scrape_configs:
- job_name: kubeflap
  honor_labels: true
  static_configs: [{targets: ["%[4]s"], labels: {namespace: monitoring, service: kubeflap}}]
- job_name: services
  kubernetes_sd_configs: [{role: endpoints, kubeconfig_file: "%[5]s"}]
  relabel_configs:
  - {action: keep, source_labels: [__meta_kubernetes_namespace, __meta_kubernetes_endpoint_address_target_kind], regex: "kube-system;"}
  - {target_label: namespace, source_labels: [__meta_kubernetes_namespace]}
  - {target_label: service, source_labels: [__meta_kubernetes_service_name]}
  - {target_label: job, source_labels: [__meta_kubernetes_service_name]}
`

func (p *Paging) writePrometheusConfig() (path string, err error) {
	shipped, err := filepath.Glob(filepath.Join(p.options.Rules, "*.yaml"))
	if err != nil {
		return "", fmt.Errorf("find the rules: %w", err)
	}
	var rules []string
	for _, file := range shipped {
		name := filepath.Base(file)
		if name == alertmanagerExample {
			continue
		}
		_, err := p.ship(name, func(text string) string { return strings.ReplaceAll(text, examplePage, "http://"+p.options.Kubeflap) })
		if err != nil {
			return "", err
		}
		rules = append(rules, strconv.Quote(filepath.Join(p.dir, name)))
	}
	return p.write("prometheus.yaml", fmt.Sprintf(prometheusConfig, Interval, strings.Join(rules, ", "),
		strings.TrimPrefix(p.Alertmanager, "http://"), p.options.Kubeflap, p.options.Kubeconfig))
}

// ship writes a modified copy of a shipped file.
func (p *Paging) ship(name string, change func(string) string) (path string, err error) {
	text, err := os.ReadFile(filepath.Join(p.options.Rules, name))
	if err != nil {
		return "", fmt.Errorf("read a shipped file: %w", err)
	}
	return p.write(name, change(string(text)))
}

func (p *Paging) write(name, text string) (path string, err error) {
	path = filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
