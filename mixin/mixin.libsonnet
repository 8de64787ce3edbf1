// The rules and dashboards of kubeflap as a monitoring mixin. It reads the files in ../rules and ../dashboards.
(import 'config.libsonnet') +
(import 'alerts.libsonnet') +
(import 'dashboards.libsonnet')
