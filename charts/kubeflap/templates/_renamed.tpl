{{- /* Names of values in other charts, and the equivalent values of this chart. */ -}}
{{- define "kubeflap.renamed" -}}
replicaCount: replicas
additionalLabels: commonLabels
customLabels: commonLabels
extraLabels: commonLabels
additionalAnnotations: commonAnnotations
customAnnotations: commonAnnotations
extraAnnotations: commonAnnotations
deploymentAnnotations: annotations
imagePullPolicy: image.pullPolicy
pullSecrets: imagePullSecrets
args: extraArgs
additionalArgs: extraArgs
extraArguments: extraArgs
extraEnv: env
extraEnvVars: env
additionalEnv: env
extraEnvFrom: envFrom
extraVolumes: volumes
additionalVolumes: volumes
extraVolumeMounts: volumeMounts
additionalVolumeMounts: volumeMounts
extraInitContainers: initContainers
sidecars: extraContainers
sidecarContainers: extraContainers
additionalContainers: extraContainers
strategy: updateStrategy
deploymentStrategy: updateStrategy
containerSecurityContext: securityContext
priorityClass: priorityClassName
runtimeClass: runtimeClassName
pdb: podDisruptionBudget
vpa: verticalPodAutoscaler
route: httpRoute
httproute: httpRoute
prometheus: serviceMonitor
prometheusRules: prometheusRule
dashboard: dashboards
grafanaDashboard: dashboards
grafanaDashboards: dashboards
extraObjects: extraManifests
extraDeploy: extraManifests
extraResources: extraManifests
additionalManifests: extraManifests
logLevel: settings.logLevel
logFormat: settings.logFormat
image.name: image.repository
image.sha: image.digest
image.pullSecrets: imagePullSecrets
rbac.enabled: rbac.create
serviceAccount.enabled: serviceAccount.create
service.servicePort: service.port
service.additionalLabels: service.labels
service.extraLabels: service.labels
podDisruptionBudget.create: podDisruptionBudget.enabled
verticalPodAutoscaler.create: verticalPodAutoscaler.enabled
networkPolicy.create: networkPolicy.enabled
ingress.create: ingress.enabled
ingress.ingressClassName: ingress.className
ingress.host: ingress.hosts
ingress.hostname: ingress.hosts
httpRoute.create: httpRoute.enabled
httpRoute.hosts: httpRoute.hostnames
{{- range $section := list "serviceMonitor" "podMonitor" "scrapeConfig" "prometheusRule" "dashboards" }}
{{ $section }}.create: {{ $section }}.enabled
{{ $section }}.additionalLabels: {{ $section }}.labels
{{ $section }}.extraLabels: {{ $section }}.labels
{{ $section }}.selector: {{ $section }}.labels
{{ $section }}.additionalAnnotations: {{ $section }}.annotations
{{- end }}
{{- range $section := list "serviceMonitor" "podMonitor" "scrapeConfig" }}
{{ $section }}.relabelConfigs: {{ $section }}.relabelings
{{ $section }}.metricRelabelConfigs: {{ $section }}.metricRelabelings
{{- end }}
podMonitor.targetLabels: podMonitor.podTargetLabels
prometheusRule.rules: prometheusRule.extraGroups
prometheusRule.groups: prometheusRule.extraGroups
prometheusRule.additionalGroups: prometheusRule.extraGroups
prometheusRule.additionalRuleLabels: prometheusRule.alertLabels
prometheusRule.additionalRuleAnnotations: prometheusRule.alertAnnotations
dashboards.label: dashboards.labels
{{- end }}

{{- /* Refuses these names in one message. The schema accepts them for this purpose. */ -}}
{{- define "kubeflap.checkNames" -}}
{{- $wrong := list -}}
{{- range $name, $right := include "kubeflap.renamed" . | fromYaml -}}
  {{- $parts := splitList "." $name -}}
  {{- $parent := len $parts | eq 1 | ternary $.Values (get $.Values (first $parts)) -}}
  {{- if hasKey $parent (last $parts) -}}
    {{- $wrong = append $wrong (printf "%s is not a value of this chart, set %s" $name $right) -}}
  {{- end -}}
{{- end -}}
{{- if $wrong -}}{{- fail (join "; " $wrong) -}}{{- end -}}
{{- end }}
