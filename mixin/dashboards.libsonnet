// Dashboards by file name.
local files = {
  'kubeflap-overview.json': importstr '../dashboards/overview.json',
  'kubeflap-service.json': importstr '../dashboards/service.json',
  'kubeflap-node.json': importstr '../dashboards/node.json',
  'kubeflap-self.json': importstr '../dashboards/kubeflap.json',
  'kubeflap-fleet.json': importstr '../dashboards/fleet.json',
};

local toPage(v) = std.isObject(v) && std.startsWith(std.get(v, 'url', ''), '${page}');

// withoutPage removes all links to the page.
local withoutPage(v) =
  if std.isArray(v) then [withoutPage(x) for x in v if !toPage(x)]
  else if std.isObject(v) then std.mapWithKey(function(_, x) withoutPage(x), v)
  else v;

{
  local config = self._config,
  // Grafana cannot expand $labels, and its variable cluster may have several values.
  local page = if std.length(std.findSubstr('{{', config.links.page)) > 0 then '' else std.rstripChars(config.links.page, '/'),
  grafanaDashboards+:: {
    [name]:
      // Without a value, Grafana selects the first data source.
      local filled = std.strReplace(std.strReplace(files[name], '${VAR_PAGE}', page), '${DS_PROMETHEUS}', '');
      local parsed = std.parseJson(filled);
      (if page == '' then withoutPage(parsed) else parsed) {
        __inputs:: [],
        tags: config.dashboards.tags,
        refresh: config.dashboards.refresh,
        links: [if link.type == 'dashboards' then link { tags: config.dashboards.tags } else link for link in super.links],
      }
    for name in std.objectFields(files)
  },
}
