#!/usr/bin/env bash
# Writes a PrometheusRule with the groups of all given rule files to the file $1. RUNBOOKS, PAGE and GRAFANA replace the
# URL prefixes of the alerts' links if they are not empty.
set -euo pipefail

out=$1
shift
runbooks=https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/
page=https://kubeflap.example.org
grafana=https://grafana.example.org

mkdir -p "$(dirname "$out")"
{
  printf '%s\n' 'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' 'metadata:' '  name: kubeflap' 'spec:' '  groups:'
  for file; do sed '1,/^groups:/d; s/^./  &/' "$file"; done
} | sed "s|$runbooks|${RUNBOOKS:-$runbooks}|; s|$page|${PAGE:-$page}|; s|$grafana|${GRAFANA:-$grafana}|" >"$out"
