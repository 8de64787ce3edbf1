{{- /* The spec of a monitor: root, monitor (its values), endpoints (how its kind names them). */ -}}
{{- define "kubeflap.monitor" -}}
{{- $m := .monitor -}}
{{- $endpoint := dict "port" "http" "path" "/metrics" "scheme" (include "kubeflap.scheme" .root) "honorLabels" $m.honorLabels -}}
{{- $of := pick $m "interval" "scrapeTimeout" "relabelings" "metricRelabelings" "proxyUrl" "tlsConfig" "basicAuth" "authorization" -}}
{{- range $key, $value := $of -}}
{{- if $value -}}{{- $_ := set $endpoint $key $value -}}{{- end -}}
{{- end -}}
jobLabel: {{ $m.jobLabel | quote }}
namespaceSelector:
  matchNames: [{{ include "kubeflap.namespace" .root | quote }}]
selector:
  matchLabels:
    {{- include "kubeflap.selector" .root | nindent 4 }}
{{ .endpoints }}:
  - {{ toYaml $endpoint | indent 4 | trim }}
{{- range $key, $value := pick $m "podTargetLabels" "scrapeProtocols" }}
{{- if $value }}
{{ $key }}:
  {{- toYaml $value | nindent 2 }}
{{- end }}
{{- end }}
{{- range $key, $value := pick $m "sampleLimit" "targetLimit" "labelLimit" "labelNameLengthLimit" "labelValueLengthLimit" }}
{{- if $value }}
{{ $key }}: {{ int $value }}
{{- end }}
{{- end }}
{{- end }}
