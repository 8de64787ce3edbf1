// The types of the dashboards' JSON, from Grafana's own packages. A tsconfig maps raw/ to the package of one version.

import type * as common from '@grafana/schema';
import type * as raw from 'raw/dashboard/x/types.gen';
import type * as bargauge from 'raw/composable/bargauge/panelcfg/x/types.gen';
import type * as heatmap from 'raw/composable/heatmap/panelcfg/x/types.gen';
import type * as stat from 'raw/composable/stat/panelcfg/x/types.gen';
import type * as statetimeline from 'raw/composable/statetimeline/panelcfg/x/types.gen';
import type * as table from 'raw/composable/table/panelcfg/x/types.gen';
import type * as timeseries from 'raw/composable/timeseries/panelcfg/x/types.gen';

// JSON contains the values of enums, not the enums.
type JSONOf<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer N extends number}` ? N : never
    : T extends readonly (infer E)[]
      ? JSONOf<E>[]
      : T extends object
        ? { [K in keyof T]: JSONOf<T[K]> }
        : T;

// Grafana fills in the defaults of options that a panel omits.
type Optional<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Optional<T[K]> } : T;

// The fields that the Prometheus data source reads: see prepareAnnotation and processEvents in annotations.ts of
// @grafana/prometheus, and dataquery.ts there. That package is too large to install for a few fields.
type Annotation = raw.AnnotationQuery & {
  expr: string;
  step?: string;
  tagKeys?: string;
  titleFormat?: string;
  textFormat?: string;
  useValueForTime?: 'on';
};
type Query = common.DataQuery & {
  expr: string;
  editorMode?: 'code' | 'builder';
  exemplar?: boolean;
  format?: 'time_series' | 'table' | 'heatmap';
  instant?: boolean;
  interval?: string;
  legendFormat?: string;
  range?: boolean;
};

// What an import asks for. Grafana publishes no type for this part of its export format.
type ImportInput = { name: string; label: string; description: string } & (
  | { type: 'datasource'; pluginId: string; pluginName: string }
  | { type: 'constant'; value: string }
);

// Grafana's export leaves current empty, and its editor writes definition (QueryVariableSpec in the schema v2).
type Variable = Omit<raw.VariableModel, 'current'> & {
  current?: raw.VariableOption | Record<string, never>;
  definition?: string;
};

type FieldConfig<Custom> = Omit<raw.FieldConfigSource, 'defaults'> & {
  defaults: Omit<raw.FieldConfig, 'custom'> & { custom?: Optional<Custom> };
};

type PanelOf<Type extends string, Options, Custom = Record<string, never>> = Omit<raw.Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> & {
  type: Type;
  targets?: Query[];
  options: Optional<Options>;
  fieldConfig?: FieldConfig<Custom>;
};

type Panel =
  | PanelOf<'bargauge', bargauge.Options>
  | PanelOf<'heatmap', heatmap.Options, heatmap.FieldConfig>
  | PanelOf<'stat', stat.Options>
  | PanelOf<'state-timeline', statetimeline.Options, statetimeline.FieldConfig>
  | PanelOf<'table', table.Options, table.FieldConfig>
  | PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
  // Grafana publishes no types for this panel's options.
  | PanelOf<'alertlist', Record<string, unknown>>;

type RowPanel = Omit<raw.RowPanel, 'panels' | 'type'> & { type: 'row'; panels: Panel[] };

export type Dashboard = JSONOf<
  Omit<raw.Dashboard, 'annotations' | 'panels' | 'templating'> & {
    __inputs: ImportInput[];
    __requires: { type: 'grafana' | 'datasource' | 'panel'; id: string; name: string; version: string }[];
    annotations: { list: Annotation[] };
    panels: (Panel | RowPanel)[];
    templating: { list: Variable[] };
  }
>;
