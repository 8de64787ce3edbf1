{{- /* The spec of a monitor: root, monitor (its values), endpoints (how its kind names them). */ -}}
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

{{- /* Adds the values that are not empty: to, of. */ -}}
{{- define "kubeflap.add" -}}
{{- $to := .to -}}
{{- range $key, $value := .of -}}
{{- if $value -}}{{- $_ := set $to $key $value -}}{{- end -}}
{{- end -}}
{{- end }}

{{- /* How a monitor authenticates, as YAML: its values. */ -}}
{{- define "kubeflap.access" -}}
{{- pick (default (default dict .spec) .endpoint) "tlsConfig" "basicAuth" "authorization" "oauth2" | toYaml -}}
{{- end }}

{{- /* Prometheus accepts one authentication method: name (of the monitor), of (its values). */ -}}
{{- define "kubeflap.oneLogin" -}}
{{- $access := include "kubeflap.access" .of | fromYaml -}}
{{- if and $access.basicAuth $access.authorization -}}
{{- fail (printf "%s has basicAuth and authorization: a scrape has one of them" .name) -}}
{{- end -}}
{{- end }}
