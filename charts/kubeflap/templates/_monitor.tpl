{{- /* The spec of a monitor: root, monitor (its values), endpoints (the name of that field for its kind). */ -}}
{{- define "kubeflap.monitor" -}}
{{- $m := .monitor -}}
{{- $endpoint := dict "port" "http" "path" "/metrics" "scheme" (include "kubeflap.scheme" .root) "honorLabels" $m.honorLabels -}}
{{- $spec := dict "jobLabel" $m.jobLabel -}}
{{- $_ := set $spec "namespaceSelector" (dict "matchNames" (list (include "kubeflap.namespace" .root))) -}}
{{- $_ := set $spec "selector" (dict "matchLabels" (include "kubeflap.selector" .root | fromYaml)) -}}
{{- include "kubeflap.add" (dict "to" $endpoint "of" (pick $m "interval" "scrapeTimeout" "relabelings" "metricRelabelings")) -}}
{{- include "kubeflap.add" (dict "to" $spec "of" (pick $m "targetLabels" "podTargetLabels" "scrapeClass" "bodySizeLimit")) -}}
{{- $_ := set $spec .endpoints (list (mergeOverwrite $endpoint (default dict $m.endpoint | deepCopy))) -}}
{{- mergeOverwrite $spec (default dict $m.spec | deepCopy) | toYaml -}}
{{- end }}

{{- /* Adds the non-empty values of "of" to "to". */ -}}
{{- define "kubeflap.add" -}}
{{- $to := .to -}}
{{- range $key, $value := .of -}}
{{- if $value -}}{{- $_ := set $to $key $value -}}{{- end -}}
{{- end -}}
{{- end }}

{{- /* The authentication settings of a monitor, as YAML: its values. */ -}}
{{- define "kubeflap.access" -}}
{{- pick (default (default dict .spec) .endpoint) "tlsConfig" "basicAuth" "authorization" "oauth2" | toYaml -}}
{{- end }}

{{- /* Refuses several authentication methods, because Prometheus accepts only one: name (of the monitor), of (its values). */ -}}
{{- define "kubeflap.oneLogin" -}}
{{- $access := include "kubeflap.access" .of | fromYaml -}}
{{- if and $access.basicAuth $access.authorization -}}
{{- fail (printf "%s sets both basicAuth and authorization, but Prometheus accepts only one" .name) -}}
{{- end -}}
{{- end }}
