{
  _config+:: {
    // Added to each selector of a kubeflap metric, such as 'job="kubeflap"'. The rules need no selector, because the metric names are unique.
    kubeflapSelector: '',
    // Evaluation interval of all groups. Empty means Prometheus' default. The rules are designed for 30s.
    interval: '',

    // URL prefixes of the links in alerts and dashboards. Links with an empty prefix are omitted.
    links: {
      // kubeflap's page, without /flaps. It may contain {{ $labels.cluster }} for alerts; dashboards then have no links to the page.
      page: '',
      // The Grafana with these dashboards.
      grafana: '',
      // The name of the alert and .md are appended.
      runbooks: 'https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/',
    },

    // Thresholds of alerts, by name, such as serviceDownSeconds: 120. docs/alerts.md lists the names and defaults.
    thresholds: {},

    // Additional labels and annotations for all alerts.
    alertLabels: {},
    alertAnnotations: {},
    // Changes to alerts, by name: enabled, for, keepFiringFor, severity, labels and annotations. If an alert has two severities, 'critical' and 'warning'
    // select one of them. For example:
    //   KubeflapSelectorConflict: { severity: 'info' },
    //   KubeflapNodeLost: { warning: { enabled: false } },
    alerts: {},

    dashboards: {
      tags: ['kubeflap'],
      refresh: '30s',
    },
  },
}
