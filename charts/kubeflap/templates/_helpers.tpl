{{- define "kubeflap.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* A Service's name must start with a letter and contain no dots. A release's name may not comply. */ -}}
{{- define "kubeflap.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
  {{- $name = contains (include "kubeflap.name" .) .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name (include "kubeflap.name" .)) | replace "." "-" -}}
  {{- $name = regexMatch "^[0-9]" $name | ternary (printf "%s-%s" .Chart.Name $name) $name -}}
{{- end -}}
{{ $name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* A unique name for objects outside of the release's namespace, where another release may have the same name. Other names contain no colon. */ -}}
{{- define "kubeflap.clusterName" -}}
{{ include "kubeflap.namespace" . }}:{{ include "kubeflap.fullname" . }}
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

{{- /* The metadata of an object: root, name, and optionally namespace, labels and annotations. The namespace "-" means none. */ -}}
{{- define "kubeflap.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
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

{{- /* The roleRef and subjects of a binding: root, and the role's kind. */ -}}
{{- define "kubeflap.bound" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "kubeflap.clusterName" .root | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ include "kubeflap.serviceAccount" .root | quote }}
    namespace: {{ include "kubeflap.namespace" .root | quote }}
{{- end }}

{{- define "kubeflap.image" -}}
{{- $name := list (default .Values.image.registry .Values.global.imageRegistry) .Values.image.repository | compact | join "/" -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}
{{- end }}
{{- end }}

{{- /* The names of the pull secrets, without duplicates. */ -}}
{{- define "kubeflap.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list .Values.global.imagePullSecrets) (default list .Values.imagePullSecrets) -}}
  {{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "string" . | ternary dict .) "name")) -}}
{{- end -}}
{{- range uniq $names }}
- name: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "kubeflap.webSecret" -}}
{{- if .Values.webConfig.existingSecret -}}
{{ .Values.webConfig.existingSecret }}
{{- else if .Values.webConfig.content -}}
{{ include "kubeflap.fullname" . }}-web
{{- end }}
{{- end }}

{{- /* The URL scheme of the page and the metrics. */ -}}
{{- define "kubeflap.scheme" -}}
{{- $content := not (empty (get (default dict .Values.webConfig.content) "tls_server_config")) -}}
{{ ternary "https" "http" (ternary .Values.webConfig.tls $content (not (empty .Values.webConfig.existingSecret))) }}
{{- end }}

{{- /* A probe: path and timing. Its port requires no certificate or password, because the kubelet has none. */ -}}
{{- define "kubeflap.probe" -}}
httpGet:
  path: {{ .path }}
  port: probes
{{ toYaml .timing }}
{{- end }}

{{- /* Refuses values that contradict each other. */ -}}
{{- define "kubeflap.check" -}}
{{- include "kubeflap.checkNames" . -}}
{{- $web := .Values.webConfig -}}
{{- if eq (int .Values.containerPort) (int .Values.probePort) -}}
  {{- fail (printf "containerPort and probePort are both %d" (int .Values.probePort)) -}}
{{- end -}}
{{- if and .Values.hostNetwork (not .Values.hostUsers) -}}
  {{- fail "hostNetwork is true and hostUsers is false: a pod in the host network cannot have its own user namespace" -}}
{{- end -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
  {{- fail "service.nodePort is set, but service.type is ClusterIP: set it to NodePort or LoadBalancer" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
  {{- fail "ingress.enabled is true without ingress.hosts: kubeflap would answer for every host" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
  {{- fail "httpRoute.enabled is true without httpRoute.parentRefs: no Gateway would use it" -}}
{{- end -}}
{{- include "kubeflap.checkBudget" . -}}
{{- include "kubeflap.checkData" . -}}
{{- if and .Values.scope.nodes (not .Values.scope.namespace) -}}
  {{- fail "scope.nodes is true without scope.namespace: the default scope already includes the nodes" -}}
{{- end -}}
{{- if and $web.content $web.existingSecret -}}
  {{- fail "webConfig.content and webConfig.existingSecret are both set: set only one" -}}
{{- end -}}
{{- if and $web.tls (not $web.existingSecret) (not (get (default dict $web.content) "tls_server_config")) -}}
  {{- fail "webConfig.tls is true, but neither webConfig.existingSecret nor webConfig.content.tls_server_config is set" -}}
{{- end -}}
{{- end }}

{{- /* Refuses a budget that would block the drain of every node with a pod. */ -}}
{{- define "kubeflap.checkBudget" -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- $min := toString (default "" $budget.minAvailable) -}}
{{- if and $min $budget.maxUnavailable -}}
  {{- fail "podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable are both set: set only one" -}}
{{- end -}}
{{- $needed := hasSuffix "%" $min | ternary (divf (mulf (trimSuffix "%" $min) .Values.replicas) 100 | ceil | int) (int $min) -}}
{{- if and $budget.enabled $min (gt (int .Values.replicas) 1) (ge $needed (int .Values.replicas)) -}}
  {{- fail (printf "podDisruptionBudget.minAvailable is %s with %d replicas: nodes that run a replica could not be drained" $min (int .Values.replicas)) -}}
{{- end -}}
{{- end }}

{{- /* With hostNetwork, a running pod occupies its ports, so a surge pod cannot be scheduled. */ -}}
{{- define "kubeflap.strategy" -}}
{{- $given := default dict .Values.updateStrategy | deepCopy -}}
{{- if include "kubeflap.claim" . -}}
  {{- $given = dict "type" "Recreate" -}}
{{- else if and .Values.hostNetwork (ne (get $given "type") "Recreate") -}}
  {{- $rolling := default dict $given.rollingUpdate -}}
  {{- $given = dict "type" "RollingUpdate" "rollingUpdate" (mergeOverwrite (dict "maxSurge" 0 "maxUnavailable" 1) $rolling) -}}
{{- end -}}
{{- with $given }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- /* The name of the claim for data. Empty means an emptyDir. */ -}}
{{- define "kubeflap.claim" -}}
{{- if and .Values.data.enabled .Values.persistence.enabled -}}
{{- default (printf "%s-data" (include "kubeflap.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}
{{- end }}

{{- /* A claim must be writable for a non-root user. If the platform chooses the user, it also chooses the group. */ -}}
{{- define "kubeflap.podSecurityContext" -}}
{{- $context := default dict .Values.podSecurityContext | deepCopy -}}
{{- if and (include "kubeflap.claim" .) (get $context "runAsUser") (not (hasKey $context "fsGroup")) -}}
  {{- $_ := set $context "fsGroup" (default (get $context "runAsUser") (get $context "runAsGroup")) -}}
  {{- $_ := set $context "fsGroupChangePolicy" "OnRootMismatch" -}}
{{- end -}}
{{- toYaml $context -}}
{{- end }}

{{- /* Bytes of a size such as 256MiB, 512Mi or 1G. */ -}}
{{- define "kubeflap.bytes" -}}
{{- $unit := ternary 1000.0 1024.0 (regexMatch "^[0-9.]+[KMGT]?$" .) -}}
{{- $bytes := regexFind "^[0-9.]+" . | float64 -}}
{{- range until (get (dict "K" 1 "M" 2 "G" 3 "T" 4) (regexFind "[KMGT]" .) | int) -}}
  {{- $bytes = mulf $bytes $unit -}}
{{- end -}}
{{- $bytes -}}
{{- end }}

{{- /* Refuses a volume that is too small for the recordings and the incidents. */ -}}
{{- define "kubeflap.checkVolume" -}}
{{- if lt (include "kubeflap.bytes" .volume | float64) (mulf 1.25 (include "kubeflap.bytes" .size | float64)) -}}
  {{- fail (printf "%s is %s and data.size is %s: the volume needs at least a quarter more than the recordings. %s" .name .volume .size .otherwise) -}}
{{- end -}}
{{- end }}

{{- /* Refuses a claim that several pods would share, and volumes that are too small. */ -}}
{{- define "kubeflap.checkData" -}}
{{- $size := .Values.data.size -}}
{{- if and .Values.data.enabled (not .Values.persistence.enabled) .Values.data.sizeLimit -}}
  {{- include "kubeflap.checkVolume" (dict "name" "data.sizeLimit" "volume" (toString .Values.data.sizeLimit) "size" $size "otherwise" "Otherwise, the kubelet evicts the pod and deletes the recordings") -}}
{{- end -}}
{{- if and .Values.data.enabled .Values.persistence.enabled (not .Values.persistence.existingClaim) -}}
  {{- include "kubeflap.checkVolume" (dict "name" "persistence.size" "volume" (toString .Values.persistence.size) "size" $size "otherwise" "Otherwise, the volume fills up and nothing more is recorded") -}}
{{- end -}}
{{- if .Values.persistence.enabled -}}
  {{- if not .Values.data.enabled -}}
    {{- fail "persistence.enabled is true, but data.enabled is false: no data would be stored" -}}
  {{- end -}}
  {{- if gt (int .Values.replicas) 1 -}}
    {{- fail (printf "persistence.enabled is true with %d replicas: only one process can write to the volume, so set replicas to 1" (int .Values.replicas)) -}}
  {{- end -}}
  {{- if eq (get (default dict .Values.updateStrategy) "type") "RollingUpdate" -}}
    {{- fail "persistence.enabled is true and updateStrategy.type is RollingUpdate: the new pod would wait for the volume of the old one" -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{- define "kubeflap.flags" -}}
{{- $own := include "kubeflap.ownFlags" . -}}
{{- range $arg := .Values.extraArgs -}}
  {{- $flag := splitList "=" $arg | first -}}
  {{- range fromYamlArray $own -}}
    {{- /* --web.listen-address may be repeated. */ -}}
    {{- if and (eq $flag (splitList "=" . | first)) (ne $flag "--web.listen-address") -}}
      {{- fail (printf "extraArgs: %s has its own value, and kubeflap rejects duplicates" $flag) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{ $own }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kubeflap.ownFlags" -}}
{{- $s := .Values.settings -}}
- run
- --web.listen-address=:{{ int .Values.containerPort }}
- --web.probe-address=:{{ int .Values.probePort }}
- --log.level={{ $s.logLevel }}
- --log.format={{ $s.logFormat }}
- --bounce-window={{ $s.bounceWindow }}
- --endpoints.source={{ $s.endpointsSource }}
{{- range $s.knownManagers }}
- {{ printf "--endpoints.known-manager=%s" . | quote }}
{{- end }}
- --incidents.size={{ int $s.incidentsSize }}
{{- with .Values.scope.namespace }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- with $s.nodeMonitorGracePeriod }}
- --node-monitor-grace-period={{ . }}
{{- end }}
{{- with .Values.data }}{{ if .enabled }}
- --data.dir=/data
- --data.size={{ .size }}
- --data.age={{ .age }}
{{- end }}{{ end }}
{{- if include "kubeflap.webSecret" . }}
- {{ printf "--web.config.file=/etc/kubeflap/web/%s" (ternary .Values.webConfig.key "web-config.yaml" (not (empty .Values.webConfig.existingSecret))) | quote }}
{{- end }}
{{- end }}
