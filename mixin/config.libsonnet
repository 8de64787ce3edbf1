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

    // Thresholds in recording rules, which several alerts share. To change the threshold of a single alert, use alerts.
    thresholds: {
      // Seconds per hour without a ready address that count as an outage: in general, and if pods were deleted or completed.
      outageSeconds: 51,
      outageSecondsOfDeletedPods: 300,
      // Address losses in 30 minutes that count as flapping: the minimum (3, reduced because increase() may miss some), per address, and the maximum.
      addressLosses: 2.5,
      addressLossesPerAddress: 0.2,
      addressLossesAtMost: 10,
      // Nodes that are late at the same time: the minimum number, and the share of all nodes.
      nodesLateTogether: 3,
      shareOfNodesLateTogether: 0.5,
      // Slow heartbeats in 30 minutes, and the longest interval in seconds that a grace period should cover.
      slowHeartbeats: 3,
      longestHeartbeatInterval: 120,
      // The longest interval of a healthy kubelet: a factor of the expected interval, and seconds to add.
      heartbeatJitter: 1.04,
      heartbeatDelivery: 1.1,
      // The maximum duration of a planned node silence in seconds.
      plannedSilence: 900,
      // Days for which a lost kubeflap release is remembered.
      releaseRemembered: 30,
    },

    // Additional labels and annotations for all alerts.
    alertLabels: {},
    alertAnnotations: {},
    // Changes to alerts, by name: enabled, for, keepFiringFor, severity, labels, annotations, expr, and replace, which replaces text in the expression.
    // If an alert has several severities, 'critical', 'warning' and 'info' select one of them. For example:
    //   KubeflapNodeClockSkewed: { severity: 'info', replace: { '> 5': '> 10' } },
    //   KubeflapDown: { warning: { enabled: false } },
    alerts: {},
    // Changes to recording rules, by name: expr and replace.
    records: {},

    dashboards: {
      tags: ['kubeflap'],
      refresh: '30s',
    },
  },
}
