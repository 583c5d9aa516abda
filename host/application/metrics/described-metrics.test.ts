import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describedMetrics } from './described-metrics.ts';

const Descriptions = suite('the descriptions of metrics');

Descriptions('are one for each metric, in one sentence', () => {
  const all = describedMetrics().flatMap(({ metrics }) => metrics);
  assert.is(new Set(all.map(({ name }) => name)).size, all.length);
  for (const { name, description } of all) assert.match(description, /^[A-Z][^.]*\.$/, name);
});

Descriptions.run();
