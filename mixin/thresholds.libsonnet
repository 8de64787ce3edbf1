// The locations of the configured thresholds: the recording rule, and the text around the number.
{
  outageSeconds: { record: 'service:kubeflap_service_outage_seconds:harmful1h', text: '>= %g\n', default: 51 },
  outageSecondsOfDeletedPods: { record: 'service:kubeflap_service_outage_seconds:harmful1h', text: 'pod_completed"} >= %g\n', default: 300 },
  addressLosses: { record: 'service:kubeflap_service_address_flips:increase30m', text: '>= %g)', default: 2.5 },
  addressLossesPerAddress: { record: 'service:kubeflap_service_address_flips:increase30m', text: '%g *', default: 0.2 },
  addressLossesAtMost: { record: 'service:kubeflap_service_address_flips:increase30m', text: ', %g)', default: 10 },
  nodesLateTogether: { record: 'cluster:kubeflap_nodes_late_together:count', text: '>= %g', default: 3 },
  shareOfNodesLateTogether: { record: 'cluster:kubeflap_nodes_late_together:count', text: '%g *', default: 0.5 },
  slowHeartbeats: { record: 'cluster:kubeflap_node_heartbeat_interval_seconds:max10m', text: '>= %g', default: 3 },
  longestHeartbeatInterval: { record: 'cluster:kubeflap_node_heartbeat_interval_seconds:max10m', text: '<= %g', default: 120 },
  heartbeatJitter: { record: 'cluster:kubeflap_node_heartbeat_interval_seconds:undisturbed', text: '%g *', default: 1.04 },
  heartbeatDelivery: { record: 'cluster:kubeflap_node_heartbeat_interval_seconds:undisturbed', text: '+ %g', default: 1.1 },
  plannedSilence: { record: 'node:kubeflap_node_departing_silence:age', text: '<= %g', default: 900 },
  releaseRemembered: { record: 'release:kubeflap_build_info:last', text: '%g * 86400', default: 30 },
}
