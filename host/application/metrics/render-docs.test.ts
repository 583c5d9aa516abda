import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { describedMetrics } from './described-metrics.ts';
import { renderMetricsDocs } from './render-docs.ts';

const Docs = suite('the page of metrics');

Docs('matches docs/metrics.md, which `aana-host docs metrics` writes', () => {
  assert.is(readFileSync(join(packageRoot, 'docs/metrics.md'), 'utf8'), renderMetricsDocs());
});

Docs('describes each metric once, in one sentence', () => {
  const all = describedMetrics().flatMap(({ metrics }) => metrics);
  assert.is(new Set(all.map(({ name }) => name)).size, all.length);
  for (const { name, description } of all) assert.match(description, /^[A-Z][^.]*\.$/, name);
});

Docs.run();
