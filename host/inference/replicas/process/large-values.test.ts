// Streams of real replica processes whose values are larger than one frame.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { collect, started, stopAll } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Large = suite('streams of large values');

Large.after.each(stopAll);

const MIB = 2 ** 20;

Large('arrive whole when the values of one turn are together larger than a frame', async () => {
  const values = await collect((await started()).stream('largeValues', { bytes: 30 * MIB, times: 5 }));
  assert.equal(
    values.map((value) => String(value).length),
    Array.from({ length: 5 }, () => 30 * MIB),
  );
});

Large('end with an error after the values before it when a value is larger than a frame', async () => {
  const set = await started();
  const values: unknown[] = [];
  const error = await errorOf(
    (async () => {
      for await (const batch of set.stream('oversized', { bytes: 65 * MIB })) values.push(...batch);
    })(),
  );
  assert.equal([values, error.name, error.kind], [['before'], 'MessageTooLarge', 'too-large']);
});

Large('fail no other stream of the same turn', async () => {
  const set = await started();
  const [, ...others] = await Promise.all([
    errorOf(collect(set.stream('oversized', { bytes: 65 * MIB }))),
    collect(set.stream('count', { to: 200 })),
    collect(set.stream('count', { to: 200 })),
  ]);
  for (const values of others)
    assert.equal(
      values,
      Array.from({ length: 200 }, (_, n) => n),
    );
});

Large.run();
