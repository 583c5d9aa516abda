import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MetricData } from '../metric-data.ts';
import { mergedText } from './merged-text.ts';
import { metricsText } from './text.ts';

const Merged = suite('the metrics of several processes as one text');
const isComment = (line: string): boolean => line.startsWith('#');
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '' && line !== '# EOF');

const attributes = fc.dictionary(fc.constantFrom('of', 'aana.name'), fc.oneof(fc.string(), fc.constant('a} {b="c" 1')));
const metric = fc
  .record({
    name: fc.constantFrom('aana.calls', 'aana.wait', 'aana.memory'),
    value: fc.integer({ min: 0, max: 9 }),
    attributes,
    description: fc.string(),
  })
  .map(({ name, value, attributes: given, description }): MetricData => {
    const kind = name === 'aana.memory' ? 'gauge' : 'counter';
    return { name, kind, unit: 'By', description, points: [{ attributes: given, value }] };
  });

Merged('has each family once, and each sample with its process', () => {
  const processes = fc.array(fc.uniqueArray(metric, { selector: ({ name }) => name }), { minLength: 1, maxLength: 4 });
  const property = fc.property(processes, fc.constantFrom('prometheus', 'openmetrics'), (all, format) => {
    const parts = new Map(all.map((metrics, n) => [n, metricsText(metrics, { 'service.name': 'a' }, format)]));
    const lines = linesOf(mergedText(parts, format));
    const types = lines.filter((line) => line.startsWith('# TYPE'));
    assert.equal(types, [...new Set(types)]);
    for (const [n, text] of parts) {
      const own = lines.filter((line) => !isComment(line) && line.includes(`{worker="${n}"`));
      const plain = own.map((line) => line.replace(`{worker="${n}",`, '{').replace(`{worker="${n}"}`, ''));
      assert.equal(
        plain.sort(),
        linesOf(text)
          .filter((line) => !isComment(line))
          .sort(),
      );
    }
    // A family's samples follow its type.
    const seen = new Set<string>();
    let family = '';
    for (const line of lines) {
      const named = /^# TYPE (\S+)/.exec(line)?.[1];
      if (named !== undefined) {
        assert.not(seen.has(named));
        seen.add((family = named));
      } else if (!isComment(line)) assert.ok(line.startsWith(family), `${line} below ${family}`);
    }
  });
  fc.assert(property);
});

Merged.run();
