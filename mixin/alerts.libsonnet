// Alerts, and the fleet's recording rules, which no alert uses.
local select = import 'select.libsonnet';

local fleet = [importstr '../rules/fleet.yaml'];
local files = [
  importstr '../rules/nodes.yaml',
  importstr '../rules/services.yaml',
  importstr '../rules/kubeflap.yaml',
];

// changed returns an expression with the configured thresholds. A threshold is the number before the comment with its name.
local changed(config, expr) =
  local set(expr, name) =
    local mark = ' # threshold: %s\n' % name, parts = std.split(expr, mark);
    if std.length(parts) == 1 then expr
    else std.rstripChars(parts[0], '0123456789.') + '%g' % config.thresholds[name] + mark + std.join(mark, parts[1:]);
  select(std.foldl(set, std.objectFields(config.thresholds), expr), config.kubeflapSelector);

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
      expr: changed(config, super.expr),
      [if std.objectHas(change, 'for') then 'for']: change['for'],
      [if std.objectHas(change, 'keepFiringFor') then 'keep_firing_for']: change.keepFiringFor,
      labels+: config.alertLabels + std.get(change, 'labels', {}) + { severity: std.get(change, 'severity', rule.labels.severity) },
      annotations: linked(config, super.annotations) + config.alertAnnotations + std.get(change, 'annotations', {}),
    },
  ];

local groups(config, files) = [
  group {
    [if config.interval != '' then 'interval']: config.interval,
    rules: std.flatMap(function(rule) if std.objectHas(rule, 'alert') then alert(config, rule) else [rule { expr: select(super.expr, config.kubeflapSelector) }], super.rules),
  }
  for file in files
  for group in std.parseYaml(file).groups
];

// checked returns the configuration if all its thresholds exist.
local checked(config) =
  local text = std.join('', files);
  local unknown = [name for name in std.objectFields(config.thresholds) if std.length(std.split(text, ' # threshold: %s\n' % name)) == 1];
  assert unknown == [] : 'unknown thresholds: %s' % std.join(', ', unknown);
  config;

{
  local config = checked(self._config),
  prometheusAlerts+:: { groups+: groups(config, files) },
  prometheusRules+:: { groups+: groups(config, fleet) },
}
