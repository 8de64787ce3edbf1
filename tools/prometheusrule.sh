#!/usr/bin/env bash
# Writes the file $1, a PrometheusRule with the groups of all rule files that follow.
# RUNBOOKS, PAGE and GRAFANA are the beginnings of the links in the alerts, if they are not empty.
set -euo pipefail

out=$1
shift
runbooks=https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/
page=https://kubeflap.example.com
grafana=https://grafana.example.com

mkdir -p "$(dirname "$out")"
{
  printf '%s\n' 'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' 'metadata:' '  name: kubeflap' 'spec:' '  groups:'
  for file; do sed '1,/^groups:/d; s/^./  &/' "$file"; done
} | sed "s|$runbooks|${RUNBOOKS:-$runbooks}|; s|$page|${PAGE:-$page}|; s|$grafana|${GRAFANA:-$grafana}|" >"$out"
