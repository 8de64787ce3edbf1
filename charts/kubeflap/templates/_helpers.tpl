{{- define "kubeflap.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* A Service's name must start with a letter and contain no dots. A release's name may not comply. The pods of a StatefulSet have its name and a hash
in a label, so a longer name would create none. */ -}}
{{- define "kubeflap.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
  {{- $name = contains (include "kubeflap.name" .) .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name (include "kubeflap.name" .)) | replace "." "-" -}}
  {{- $name = regexMatch "^[0-9]" $name | ternary (printf "%s-%s" .Chart.Name $name) $name -}}
{{- end -}}
{{ $name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "kubeflap.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "kubeflap.selector" -}}
app.kubernetes.io/name: {{ include "kubeflap.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kubeflap.labels" -}}
{{- $own := include "kubeflap.selector" . | fromYaml -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- merge $own (default dict .Values.commonLabels) | toYaml }}
{{- end }}

{{- /* The metadata of an object: root, and optionally name, namespace, labels and annotations. The namespace "-" means none. */ -}}
{{- define "kubeflap.metadata" -}}
{{- $root := .root -}}
name: {{ default (include "kubeflap.fullname" $root) .name | quote }}
{{- if ne (default "" .namespace) "-" }}
namespace: {{ default (include "kubeflap.namespace" $root) .namespace | quote }}
{{- end }}
labels:
  {{- merge (include "kubeflap.labels" $root | fromYaml) (default dict .labels) | toYaml | nindent 2 }}
{{- with merge dict (default dict .annotations) (default dict $root.Values.commonAnnotations) }}
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

{{- /* The name of the Secret with the web configuration. */ -}}
{{- define "kubeflap.webSecret" -}}
{{- if .Values.webConfig.existingSecret -}}
{{ .Values.webConfig.existingSecret }}
{{- else if .Values.webConfig.content -}}
{{ include "kubeflap.fullname" . }}-web
{{- end }}
{{- end }}

{{- /* The URL scheme of the page and the metrics. */ -}}
{{- define "kubeflap.scheme" -}}
{{- $content := default dict .Values.webConfig.content -}}
{{ or .Values.webConfig.tls $content.tls_server_config | empty | ternary "http" "https" }}
{{- end }}

{{- /* Each replica of a StatefulSet has its own claim. An existing claim only fits one pod, so a Deployment uses it. */ -}}
{{- define "kubeflap.kind" -}}
{{ and .Values.persistence.enabled (not .Values.persistence.existingClaim) | ternary "StatefulSet" "Deployment" }}
{{- end }}

{{- /* Bytes of a size such as 256MiB, 512Mi, 1G or 1e9. */ -}}
{{- define "kubeflap.bytes" -}}
{{- $number := regexFind "^[0-9.]+([eE][-+]?[0-9]+)?" . -}}
{{- $unit := trimPrefix $number . -}}
{{- $base := regexMatch "[iB]" $unit | ternary 1024.0 1000.0 -}}
{{- $bytes := float64 $number -}}
{{- range until (get (dict "k" 1 "K" 1 "M" 2 "G" 3 "T" 4 "P" 5 "E" 6) (trunc 1 $unit) | int) -}}
  {{- $bytes = mulf $bytes $base -}}
{{- end -}}
{{- $bytes -}}
{{- end }}

{{- /* Refuses values that contradict each other. */ -}}
{{- define "kubeflap.check" -}}
{{- $v := .Values -}}
{{- $content := default dict $v.webConfig.content -}}
{{- if eq (int $v.containerPort) (int $v.probePort) -}}
  {{- fail (printf "containerPort and probePort are both %d" (int $v.probePort)) -}}
{{- end -}}
{{- if and $v.service.nodePort (eq $v.service.type "ClusterIP") -}}
  {{- fail "service.nodePort is set, but service.type is ClusterIP: set it to NodePort or LoadBalancer" -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
  {{- fail "ingress.enabled is true without ingress.hosts: kubeflap would answer for every host" -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) -}}
  {{- fail "httpRoute.enabled is true without httpRoute.parentRefs: no Gateway would use it" -}}
{{- end -}}
{{- if and $v.hostNetwork $v.networkPolicy.enabled -}}
  {{- fail "networkPolicy.enabled and hostNetwork are both true: a NetworkPolicy does not apply to the host network" -}}
{{- end -}}
{{- if and $v.scope.nodes (not $v.scope.namespace) -}}
  {{- fail "scope.nodes is true without scope.namespace: the default scope already includes the nodes" -}}
{{- end -}}
{{- if and $content $v.webConfig.existingSecret -}}
  {{- fail "webConfig.content and webConfig.existingSecret are both set: set only one" -}}
{{- end -}}
{{- if and $v.webConfig.tls (not $v.webConfig.existingSecret) (not $content.tls_server_config) -}}
  {{- fail "webConfig.tls is true, but neither webConfig.existingSecret nor webConfig.content.tls_server_config is set" -}}
{{- end -}}
{{- $login := or $v.webConfig.existingSecret $content.basic_auth_users (eq (dig "tls_server_config" "client_auth_type" "" $content) "RequireAndVerifyClientCert") -}}
{{- if and (has "--web.enable-recordings" $v.extraArgs) (not $login) -}}
  {{- fail "extraArgs: kubeflap only serves recordings to authenticated clients: set webConfig with basic_auth_users or client_auth_type: RequireAndVerifyClientCert, or remove --web.enable-recordings" -}}
{{- end -}}
{{- if and (has "--web.enable-recordings" $v.extraArgs) (not $v.data.enabled) -}}
  {{- fail "extraArgs: --web.enable-recordings needs data.enabled, because there are no recordings otherwise" -}}
{{- end -}}
{{- if join "\n" $v.extraArgs | contains "--web.enable-recordings=" -}}
  {{- fail "extraArgs: --web.enable-recordings takes no value" -}}
{{- end -}}
{{- /* Another scope than that of the permissions and the rules would not fit, even if the values have none. */ -}}
{{- range $own := append (include "kubeflap.args" . | fromYamlArray) "--namespace" -}}
  {{- $flag := splitList "=" $own | first -}}
  {{- range $v.extraArgs -}}
    {{- if and (eq $flag (splitList "=" . | first)) (ne $flag "--web.listen-address") -}}
      {{- fail (printf "extraArgs: %s has its own value, and kubeflap rejects duplicates" $flag) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and $v.monitor.endpoint.basicAuth $v.monitor.endpoint.authorization -}}
  {{- fail "monitor.endpoint sets both basicAuth and authorization, but Prometheus accepts only one" -}}
{{- end -}}
{{- include "kubeflap.checkData" . -}}
{{- end }}

{{- /* Refuses a claim that several pods would share, and volumes that are too small: the recordings need a quarter more than data.size. */ -}}
{{- define "kubeflap.checkData" -}}
{{- $v := .Values -}}
{{- $limits := default dict $v.resources.limits -}}
{{- $volume := $v.persistence.enabled | ternary $v.persistence.size (get $limits "ephemeral-storage") | toString -}}
{{- $name := $v.persistence.enabled | ternary "persistence.size" "resources.limits.ephemeral-storage" -}}
{{- if and $v.persistence.enabled (not $v.data.enabled) -}}
  {{- fail "persistence.enabled is true, but data.enabled is false: no data would be stored" -}}
{{- end -}}
{{- if and $v.persistence.existingClaim (not $v.persistence.enabled) -}}
  {{- fail "persistence.existingClaim is set, but persistence.enabled is false: the claim would not be used" -}}
{{- end -}}
{{- if and $v.persistence.enabled $v.persistence.existingClaim (gt (int $v.replicas) 1) -}}
  {{- fail (printf "persistence.existingClaim is set with %d replicas: only one process can write to the volume, so set replicas to 1" (int $v.replicas)) -}}
{{- end -}}
{{- if and $v.data.enabled $volume (not $v.persistence.existingClaim) -}}
  {{- if lt (include "kubeflap.bytes" $volume | float64) (mulf 1.25 (include "kubeflap.bytes" $v.data.size | float64)) -}}
    {{- fail (printf "%s is %s and data.size is %s: the volume needs at least a quarter more than the recordings" $name $volume $v.data.size) -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{- /* The arguments of the container, without extraArgs. */ -}}
{{- define "kubeflap.args" -}}
- run
- --web.listen-address=:{{ int .Values.containerPort }}
- --web.probe-address=:{{ int .Values.probePort }}
- --log.level={{ .Values.settings.logLevel }}
- --log.format={{ .Values.settings.logFormat }}
{{- range .Values.settings.knownManagers }}
- {{ printf "--endpoints.known-manager=%s" . | quote }}
{{- end }}
{{- with .Values.scope.namespace }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- with .Values.settings.nodeMonitorGracePeriod }}
- --node-monitor-grace-period={{ . }}
{{- end }}
{{- if .Values.data.enabled }}
- --data.dir=/data
- --data.size={{ .Values.data.size }}
- --data.age={{ .Values.data.age }}
{{- end }}
{{- if include "kubeflap.webSecret" . }}
- --web.config.file=/etc/kubeflap/web/web-config.yaml
{{- end }}
{{- end }}
