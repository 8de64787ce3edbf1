// Alerts and recording rules. Groups with alerts are in prometheusAlerts together with their recording rules, because an alert must use the recorded
// series of the same evaluation, not of the previous one. Only the fleet's recording rules, which no alert uses, are in prometheusRules.
local select = import 'select.libsonnet';
local thresholds = import 'thresholds.libsonnet';

local fleet = [importstr '../rules/fleet.yaml'];
local files = [
  importstr '../rules/nodes.yaml',
  importstr '../rules/services.yaml',
  importstr '../rules/kubeflap.yaml',
];

local replaced(name, expr, old, new) =
  assert std.length(std.findSubstr(old, expr)) > 0 : '%s: its expression does not contain "%s"' % [name, old];
  std.strReplace(expr, old, new);

// changed returns an expression with the configured changes.
local changed(config, name, expr, change) =
  local ofThresholds = std.foldl(
    function(e, key)
      local t = thresholds[key], value = config.thresholds[key];
      if t.record != name || value == t.default then e else replaced(name, e, t.text % t.default, t.text % value),
    std.objectFields(thresholds),
    expr,
  );
  local replace = std.get(change, 'replace', {});
  local ofChange = std.foldl(function(e, old) replaced(name, e, old, replace[old]), std.objectFields(replace), ofThresholds);
  select(std.get(change, 'expr', ofChange), config.kubeflapSelector);

// linked returns the annotations with the configured links.
local linked(config, annotations) =
  local page = { from: 'https://kubeflap.example.org', to: std.rstripChars(config.links.page, '/') };
  local grafana = { from: 'https://grafana.example.org', to: std.rstripChars(config.links.grafana, '/') };
  local runbooks = { from: 'https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/', to: config.links.runbooks };
  local links = [page, grafana, runbooks];
  local dead(text) = std.length([link for link in links if link.to == '' && std.startsWith(text, link.from)]) > 0;
  {
    [name]: std.foldl(function(text, link) std.strReplace(text, link.from, link.to), links, annotations[name])
    for name in std.objectFields(annotations)
    if !dead(annotations[name])
  };

local alert(config, rule) =
  local all = std.get(config.alerts, rule.alert, {});
  local change = all + std.get(all, rule.labels.severity, {});
  if !std.get(change, 'enabled', true) then [] else [
    rule {
      expr: changed(config, rule.alert, super.expr, change),
      [if std.objectHas(change, 'for') then 'for']: change['for'],
      [if std.objectHas(change, 'keepFiringFor') then 'keep_firing_for']: change.keepFiringFor,
      labels+: config.alertLabels + std.get(change, 'labels', {}) + { severity: std.get(change, 'severity', rule.labels.severity) },
      annotations: linked(config, super.annotations) + config.alertAnnotations + std.get(change, 'annotations', {}),
    },
  ];

local record(config, rule) = [
  rule { expr: changed(config, rule.record, super.expr, std.get(config.records, rule.record, {})) },
];

local groups(config, files) = [
  group {
    [if config.interval != '' then 'interval']: config.interval,
    rules: std.flatMap(function(rule) if std.objectHas(rule, 'alert') then alert(config, rule) else record(config, rule), super.rules),
  }
  for file in files
  for group in std.parseYaml(file).groups
];

{
  local config = self._config,
  prometheusAlerts+:: { groups+: groups(config, files) },
  prometheusRules+:: { groups+: groups(config, fleet) },
}
