package paging

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/steps"
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
	groupInterval = regexp.MustCompile(`(?m)^(\s*group_interval:).*$`)
)

// writeAlertmanagerConfig writes the shipped Alertmanager configuration with the lab's receiver. It removes time
// intervals, because the lab runs at any time of day, and makes a group's later alerts arrive soon.
func (p *Paging) writeAlertmanagerConfig() (path string) {
	p.ship(alertmanagerTemplate, func(text string) string { return text })
	return p.ship(alertmanagerExample, func(text string) string {
		for _, found := range groupWait.FindAllStringSubmatch(text, -1) {
			p.GroupWait = max(p.GroupWait, steps.Value(time.ParseDuration(found[1])))
		}
		text = groupInterval.ReplaceAllString(text, "$1 10s")
		return receiverURL.ReplaceAllString(timeIntervals.ReplaceAllString(text, ""), "$1 "+p.Receiver.URL)
	})
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

func (p *Paging) writePrometheusConfig() (path string) {
	var rules []string
	for _, file := range steps.Value(filepath.Glob(filepath.Join(p.options.Rules, "*.yaml"))) {
		if name := filepath.Base(file); name != alertmanagerExample {
			shipped := p.ship(name, func(text string) string {
				return strings.ReplaceAll(text, examplePage, "http://"+p.options.Kubeflap[0])
			})
			rules = append(rules, strconv.Quote(shipped))
		}
	}
	return p.write("prometheus.yaml", fmt.Sprintf(prometheusConfig, Interval, strings.Join(rules, ", "),
		strings.TrimPrefix(p.Alertmanager, "http://"), strings.Join(p.options.Kubeflap, `", "`), p.options.Kubeconfig))
}

// ship writes a modified copy of a shipped file.
func (p *Paging) ship(name string, change func(string) string) (path string) {
	return p.write(name, change(string(steps.Value(os.ReadFile(filepath.Join(p.options.Rules, name))))))
}

func (p *Paging) write(name, text string) (path string) {
	path = filepath.Join(p.dir, name)
	steps.Must(os.WriteFile(path, []byte(text), 0o600))
	return path
}
