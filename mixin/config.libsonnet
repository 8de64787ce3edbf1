{
  _config+:: {
    // Added to each selector of kubeflap's metrics in the expressions, such as 'job="kubeflap"'. The rules need none: the names of the metrics are enough.
    kubeflapSelector: '',
    // Evaluation interval of all groups. Empty: Prometheus' default; the rules are designed for 30s.
    interval: '',

    // Beginnings of links in alerts and dashboards. Links whose beginning is empty are left out.
    links: {
      // kubeflap's page, without /flaps. May contain {{ $labels.cluster }} for the alerts; dashboards then have no such links.
      page: '',
      // The Grafana that has these dashboards.
      grafana: '',
      // The name of the alert and .md are appended.
      runbooks: 'https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/',
    },

    // Thresholds that are in recording rules, because several alerts share them. Those of single alerts are changed in alerts.
    thresholds: {
      // Seconds without a ready address in an hour that burn the error budget: in general, and if pods were deleted or completed.
      outageSeconds: 51,
      outageSecondsOfDeletedPods: 300,
      // Losses of addresses in 30 minutes that are flapping: at least (3, less what increase() may miss), per address, and at most.
      addressLosses: 2.5,
      addressLossesPerAddress: 0.2,
      addressLossesAtMost: 10,
      // Nodes that are late together: at least, and their share of all nodes.
      nodesLateTogether: 3,
      shareOfNodesLateTogether: 0.5,
      // Slow heartbeats in 30 minutes, and the longest interval in seconds that a grace period should cover.
      slowHeartbeats: 3,
      longestHeartbeatInterval: 120,
      // The longest interval of a healthy kubelet: its share of the expected one, and seconds.
      heartbeatJitter: 1.04,
      heartbeatDelivery: 1.1,
      // Seconds that a planned silence of a node may take.
      plannedSilence: 900,
      // Days that a release of kubeflap that is gone is remembered.
      releaseRemembered: 30,
    },

    // Labels and annotations of every alert.
    alertLabels: {},
    alertAnnotations: {},
    // Changes to alerts, by name: enabled, for, keepFiringFor, severity, labels, annotations, expr, and replace, which replaces text in the expression.
    // If an alert has several severities, 'critical', 'warning' and 'info' change only one of them. For example:
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
