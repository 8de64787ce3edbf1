{{- define "kubeflap.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kubeflap.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "kubeflap.name" .) .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "kubeflap.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "kubeflap.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "kubeflap.selector" -}}
app.kubernetes.io/name: {{ include "kubeflap.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubeflap.labels" -}}
{{- $own := include "kubeflap.selector" . | fromYaml -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{- /* metadata of an object: root, name, and what else it has of namespace, labels and annotations; namespace "-" is none. */ -}}
{{- define "kubeflap.metadata" -}}
{{- $root := .root -}}
name: {{ .name }}
{{- if ne (default "" .namespace) "-" }}
namespace: {{ default (include "kubeflap.namespace" $root) .namespace }}
{{- end }}
labels:
  {{- merge (include "kubeflap.labels" $root | fromYaml) (default dict .labels) | toYaml | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kubeflap.serviceAccount" -}}
{{ default (ternary (include "kubeflap.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "kubeflap.image" -}}
{{- $name := list (default .Values.image.registry .Values.global.imageRegistry) .Values.image.repository | compact | join "/" -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "kubeflap.webSecret" -}}
{{- if .Values.webConfig.existingSecret -}}
{{ .Values.webConfig.existingSecret }}
{{- else if .Values.webConfig.content -}}
{{ include "kubeflap.fullname" . }}-web
{{- end }}
{{- end }}

{{- /* What the web config asks of clients: scheme, and whether they must show who they are. */ -}}
{{- define "kubeflap.web" -}}
{{- if .Values.webConfig.existingSecret -}}
scheme: {{ ternary "https" "http" .Values.webConfig.tls }}
authentication: {{ .Values.webConfig.authentication }}
{{- else -}}
{{- $tls := default dict .Values.webConfig.content.tls_server_config -}}
scheme: {{ ternary "https" "http" (not (empty $tls)) }}
authentication: {{ or (not (empty .Values.webConfig.content.basic_auth_users)) (hasPrefix "Require" (default "" $tls.client_auth_type)) }}
{{- end }}
{{- end }}

{{- /* A probe: root, path, and its timing. The kubelet has no password and no certificate to show. */ -}}
{{- define "kubeflap.probe" -}}
{{- $web := include "kubeflap.web" .root | fromYaml -}}
{{- if $web.authentication -}}
tcpSocket:
  port: http
{{- else -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ upper $web.scheme }}
{{- end }}
{{ toYaml .timing }}
{{- end }}

{{- define "kubeflap.flags" -}}
{{- $s := .Values.settings -}}
- run
- --web.listen-address=:{{ .Values.containerPort }}
- --log.level={{ $s.logLevel }}
- --log.format={{ $s.logFormat }}
- --bounce-window={{ $s.bounceWindow }}
- --endpoints.source={{ $s.endpointsSource }}
- --incidents.size={{ int $s.incidentsSize }}
{{- with $s.nodeMonitorGracePeriod }}
- --node-monitor-grace-period={{ . }}
{{- end }}
{{- if include "kubeflap.webSecret" . }}
- --web.config.file=/etc/kubeflap/web/{{ ternary .Values.webConfig.key "web-config.yaml" (not (empty .Values.webConfig.existingSecret)) }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
