{{- /* The rule groups in rules/, with the changes from the values. A release that watches one namespace does not record totals of the
cluster, because several releases would record the same series. */ -}}
{{- define "kubeflap.groups" -}}
{{- $root := . -}}
{{- $groups := list -}}
{{- $files := .Files.Glob "rules/*.yaml" -}}
{{- if not $files -}}
  {{- fail "prometheusRule.enabled is true, but the chart in a checkout contains no rules: run make chart, and use the package in bin/" -}}
{{- end -}}
{{- range $path, $_ := $files -}}
  {{- range $group := ($root.Files.Get $path | fromYaml).groups -}}
    {{- $rules := list -}}
    {{- range $rule := $group.rules -}}
      {{- $changed := include "kubeflap.rule" (dict "root" $root "group" $group.name "rule" $rule) | fromYaml -}}
      {{- if $changed -}}{{- $rules = append $rules $changed -}}{{- end -}}
    {{- end -}}
    {{- if and $rules (not (and $root.Values.scope.namespace (eq $group.name "kubeflap-fleet"))) -}}{{- $groups = append $groups (set $group "rules" $rules) -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- concat $groups (default list .Values.prometheusRule.extraGroups) | toYaml -}}
{{- end }}

{{- /* A rule, or nothing if it is disabled: root, group, rule. */ -}}
{{- define "kubeflap.rule" -}}
{{- $rule := .rule -}}
{{- $values := .root.Values -}}
{{- range $name, $value := $values.thresholds -}}
  {{- $_ := set $rule "expr" (mustRegexReplaceAll (printf "[0-9.]+ # threshold: %s\\b" $name) $rule.expr (printf "%v # threshold: %s" $value $name)) -}}
{{- end -}}
{{- with $values.scope.namespace -}}
  {{- /* Series without their own namespace label, such as those of kubeflap itself, have the one of the target: the release's namespace. */ -}}
  {{- $namespaces := list (include "kubeflap.namespace" $.root) . -}}
  {{- $matcher := printf "namespace=~%q" (eq $.group "kubeflap-self" | ternary (first $namespaces) ($namespaces | uniq | join "|")) -}}
  {{- $_ := set $rule "expr" (mustRegexReplaceAll "(^|[^\\w:])(kubeflap_\\w+)\\{" $rule.expr (printf "${1}${2}{%s," $matcher)) -}}
  {{- $_ := set $rule "expr" (mustRegexReplaceAll "(^|[^\\w:])(kubeflap_\\w+)([^\\w{]|$)" $rule.expr (printf "${1}${2}{%s}${3}" $matcher)) -}}
{{- end -}}
{{- $all := default dict (get (default dict $values.prometheusRule.alerts) (default "" $rule.alert)) -}}
{{- $change := mergeOverwrite (omit $all "critical" "warning" | deepCopy) (default dict (get $all (dig "labels" "severity" "" $rule)) | deepCopy) -}}
{{- if hasKey (default dict $change.labels) "severity" -}}
  {{- fail (printf "prometheusRule.alerts.%s.labels.severity: set prometheusRule.alerts.%s.severity" $rule.alert $rule.alert) -}}
{{- end -}}
{{- if not $rule.alert -}}
  {{- toYaml $rule -}}
{{- else if ne (get $change "enabled" | toString) "false" -}}
  {{- with get $change "for" -}}{{- $_ := set $rule "for" . -}}{{- end -}}
  {{- with $change.keepFiringFor -}}{{- $_ := set $rule "keep_firing_for" . -}}{{- end -}}
  {{- $severity := dict "severity" (default $rule.labels.severity $change.severity) -}}
  {{- $_ := set $rule "labels" (mergeOverwrite $rule.labels (default dict $values.prometheusRule.additionalRuleLabels | deepCopy) (default dict $change.labels) $severity) -}}
  {{- $linked := include "kubeflap.linked" (dict "links" $values.links "annotations" $rule.annotations) | fromYaml -}}
  {{- $_ := set $rule "annotations" (mergeOverwrite $linked (default dict $values.prometheusRule.additionalRuleAnnotations | deepCopy) (default dict $change.annotations)) -}}
  {{- toYaml $rule -}}
{{- end -}}
{{- end }}

{{- /* Annotations with the links from the values. Links without a target are omitted: links, annotations. */ -}}
{{- define "kubeflap.linked" -}}
{{- $targets := dict
    "https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/" .links.runbooks
    "https://kubeflap.example.org" (default "" .links.page | trimSuffix "/")
    "https://grafana.example.org" (default "" .links.grafana | trimSuffix "/") -}}
{{- range $name, $text := .annotations -}}
  {{- range $prefix, $target := $targets -}}
    {{- if and (not $target) (hasPrefix $prefix $text) -}}{{- $text = "" -}}{{- end -}}
    {{- $text = replace $prefix $target $text -}}
  {{- end -}}
  {{- if $text }}
{{ dict $name $text | toYaml }}
  {{- end -}}
{{- end -}}
{{- end }}
