#!/usr/bin/env bash
# Checks the given rule files, kubeflap's metrics and Alertmanager's messages.
set -euo pipefail

for recording in exporter/recording/incidents/*.jsonl.gz cmd/kubeflap/testdata/hostile/*.jsonl.gz; do
  bin/kubeflap replay --once --log.level=error "$recording" | bin/promtool check metrics
done
bin/promtool check rules --lint=all "$@"
bin/promtool test rules rules/tests/*.yaml
bin/amtool check-config rules/alertmanager.yaml
bin/amtool template render --template.glob=rules/alertmanager.tmpl --template.data=rules/tests/hostile-message.json \
  --template.text='{{ template "kubeflap.title" . }} {{ template "kubeflap.text" . }}' | diff rules/tests/hostile-message.txt -
