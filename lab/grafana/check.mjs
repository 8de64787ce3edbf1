// Checks the dashboards against the types that Grafana publishes for its versions 12 and 13.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const dashboards = '../../dashboards';

// TypeScript only finds unknown properties in literals, not in imported JSON.
mkdirSync('generated', { recursive: true });
for (const file of readdirSync(dashboards).filter((name) => name.endsWith('.json'))) {
  const name = basename(file, '.json');
  const json = readFileSync(join(dashboards, file), 'utf8');
  writeFileSync(join('generated', `${name}.ts`), `import type { Dashboard } from '../dashboard';\n\nexport const ${name}: Dashboard = ${json}`);
  console.log(file);
}

let failed = false;
for (const version of ['12', '13']) {
  const { version: release } = JSON.parse(readFileSync(`node_modules/grafana-${version}/package.json`, 'utf8'));
  try {
    execFileSync('node_modules/.bin/tsc', ['--project', `tsconfig-${version}.json`], { stdio: 'inherit' });
    console.log(`ok: @grafana/schema ${release}`);
  } catch {
    console.error(`failed: @grafana/schema ${release}`);
    failed = true;
  }
}
process.exitCode = failed ? 1 : 0;
