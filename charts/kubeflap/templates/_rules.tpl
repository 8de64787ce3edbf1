{{- /* The rule groups in rules/, with the changes from the values. */ -}}
{{- define "kubeflap.groups" -}}
{{- $root := . -}}
{{- $groups := list -}}
{{- $files := .Files.Glob "rules/*.yaml" -}}
{{- if not $files -}}
  {{- fail "prometheusRule.enabled is true, but this copy of the chart contains no files rules/*.yaml: use a complete copy of the chart" -}}
{{- end -}}
{{- range $path, $bytes := $files -}}
  {{- $file := $root.Files.Get $path | fromYaml -}}
  {{- if hasKey $file "Error" -}}{{- fail (printf "%s: %s" $path $file.Error) -}}{{- end -}}
  {{- range $group := $file.groups -}}
    {{- $rules := list -}}
    {{- range $rule := $group.rules -}}
      {{- $changed := include "kubeflap.rule" (dict "values" $root.Values "rule" $rule) | fromYaml -}}
      {{- if $changed -}}{{- $rules = append $rules $changed -}}{{- end -}}
    {{- end -}}
    {{- $_ := set $group "rules" $rules -}}
    {{- with $root.Values.prometheusRule.interval -}}{{- $_ := set $group "interval" . -}}{{- end -}}
    {{- if $rules -}}{{- $groups = append $groups $group -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- concat $groups (default list .Values.prometheusRule.extraGroups) | toYaml -}}
{{- end }}

{{- /* A rule, or nothing if it is disabled: values, rule. */ -}}
{{- define "kubeflap.rule" -}}
{{- $rule := .rule -}}
{{- if not $rule.alert -}}
{{- toYaml $rule -}}
{{- else -}}
{{- $all := default dict (get (default dict .values.prometheusRule.alerts) $rule.alert) -}}
{{- $change := mergeOverwrite (omit $all "critical" "warning" "info" | deepCopy) (default dict (index $all $rule.labels.severity) | deepCopy) -}}
{{- if hasKey (default dict $change.labels) "severity" -}}
  {{- fail (printf "prometheusRule.alerts.%s.labels.severity: set prometheusRule.alerts.%s.severity" $rule.alert $rule.alert) -}}
{{- end -}}
{{- if ne (get $change "enabled" | toString) "false" -}}
  {{- range $name, $value := .values.thresholds -}}
    {{- $_ := set $rule "expr" (mustRegexReplaceAll (printf "[0-9.]+ # threshold: %s\\b" $name) $rule.expr (printf "%v # threshold: %s" $value $name)) -}}
  {{- end -}}
  {{- with get $change "for" -}}{{- $_ := set $rule "for" . -}}{{- end -}}
  {{- with $change.keepFiringFor -}}{{- $_ := set $rule "keep_firing_for" . -}}{{- end -}}
  {{- $severity := include "kubeflap.severity" (dict "values" .values "rule" $rule "severity" (default $rule.labels.severity $change.severity)) -}}
  {{- $_ := set $rule "labels" (mergeOverwrite $rule.labels (default dict .values.prometheusRule.alertLabels | deepCopy) (default dict $change.labels) (dict "severity" $severity)) -}}
  {{- $annotations := include "kubeflap.linked" . | fromYaml -}}
  {{- $_ := set $rule "annotations" (mergeOverwrite $annotations (default dict .values.prometheusRule.alertAnnotations | deepCopy) (default dict $change.annotations)) -}}
  {{- toYaml $rule -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The severity of an alert. It is a template if it depends on the namespace: values, rule, severity. */ -}}
{{- define "kubeflap.severity" -}}
{{- $severity := .severity -}}
{{- $text := .severity -}}
{{- if contains "namespace={{ $labels.namespace" .rule.annotations.page_url -}}
  {{- range $change := reverse (default list .values.prometheusRule.severitiesByNamespace) -}}
    {{- $of := dict -}}
    {{- range $was := list "critical" "warning" "info" -}}{{- $_ := set $of $was (default $was (get $change.severities $was)) -}}{{- end -}}
    {{- if or (eq $of.critical $of.warning) (eq $of.critical $of.info) -}}
      {{- fail (printf "prometheusRule.severitiesByNamespace: for %q, critical has the same severity as another one: alerts with both could not be distinguished" $change.namespaces) -}}
    {{- end -}}
    {{- $pattern := printf "^(?:%s)$" $change.namespaces -}}
    {{- $_ := mustRegexMatch $pattern "" -}}
    {{- $text = printf "{{ if match %q $labels.namespace }}%s{{ else }}%s{{ end }}" $pattern (default $severity (get $change.severities $severity)) $text -}}
  {{- end -}}
{{- end -}}
{{- $text -}}
{{- end }}

{{- /* A rule's annotations with the links from the values: values, rule. */ -}}
{{- define "kubeflap.linked" -}}
{{- $links := .values.links -}}
{{- $linked := dict -}}
{{- range $name, $text := .rule.annotations -}}
  {{- $left := or
      (and (hasPrefix "https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/" $text) (not $links.runbooks))
      (and (hasPrefix "https://kubeflap.example.org" $text) (not $links.page))
      (and (hasPrefix "https://grafana.example.org" $text) (not $links.grafana)) -}}
  {{- if not $left -}}
    {{- $text = replace "https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/" $links.runbooks $text -}}
    {{- $text = replace "https://kubeflap.example.org" (default "" $links.page | trimSuffix "/") $text -}}
    {{- $text = replace "https://grafana.example.org" (default "" $links.grafana | trimSuffix "/") $text -}}
    {{- $_ := set $linked $name $text -}}
  {{- end -}}
{{- end -}}
{{- toYaml $linked -}}
{{- end }}
