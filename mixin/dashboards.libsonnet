// Dashboards by file name.
local files = {
  'kubeflap-overview.json': importstr '../dashboards/overview.json',
  'kubeflap-service.json': importstr '../dashboards/service.json',
  'kubeflap-node.json': importstr '../dashboards/node.json',
  'kubeflap-self.json': importstr '../dashboards/kubeflap.json',
  'kubeflap-fleet.json': importstr '../dashboards/fleet.json',
};

local placeholder = 'https://kubeflap.example.org';
local toPage(v) = std.isObject(v) && std.startsWith(std.get(v, 'url', ''), placeholder);

// withoutPage removes all links to the page.
local withoutPage(v) =
  if std.isArray(v) then [withoutPage(x) for x in v if !toPage(x)]
  else if std.isObject(v) then {
    [k]: withoutPage(v[k])
    for k in std.objectFields(v)
    if k != 'textFormat' || std.length(std.findSubstr(placeholder, v[k])) == 0
  } else v;

{
  local config = self._config,
  // Grafana cannot expand $labels, and its variable cluster may have several values.
  local page = if std.length(std.findSubstr('{{', config.links.page)) > 0 then '' else std.rstripChars(config.links.page, '/'),
  grafanaDashboards+:: {
    [name]:
      local dashboard = if page == '' then withoutPage(std.parseJson(files[name])) else std.parseJson(std.strReplace(files[name], placeholder, page));
      dashboard {
        tags: config.dashboards.tags,
        refresh: config.dashboards.refresh,
        links: [if link.type == 'dashboards' then link { tags: config.dashboards.tags } else link for link in super.links],
      }
    for name in std.objectFields(files)
  },
}
