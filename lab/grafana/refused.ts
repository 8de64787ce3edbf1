// The compiler reports an error here if the types of dashboard.ts accept one of these mistakes.

import type { Dashboard } from './dashboard';

type Panels = Dashboard['panels'];
const at = { h: 1, w: 1, x: 0, y: 0 };

export const refused: Panels[] = [
  // @ts-expect-error: Grafana 12 moved the footer of a table to the fields.
  [{ type: 'table', gridPos: at, options: { footer: { show: false } } }],
  // @ts-expect-error: not a valid value.
  [{ type: 'stat', gridPos: at, options: { colorMode: 'bright' } }],
  // @ts-expect-error: the panel of Grafana 10 and before.
  [{ type: 'graph', gridPos: at, options: {} }],
  // @ts-expect-error: not an option of the field.
  [{ type: 'timeseries', gridPos: at, options: {}, fieldConfig: { defaults: { custom: { drawStile: 'line' } }, overrides: [] } }],
  // @ts-expect-error: a unit is a string.
  [{ type: 'stat', gridPos: at, options: {}, fieldConfig: { defaults: { unit: 5 }, overrides: [] } }],
  // @ts-expect-error: a query needs an expression.
  [{ type: 'stat', gridPos: at, options: {}, targets: [{ refId: 'A' }] }],
];

export const accepted: Panels = [{ type: 'stat', gridPos: at, options: { colorMode: 'value' }, targets: [{ refId: 'A', expr: 'up' }] }];
