import * as assert from 'uvu/assert';
import { ANYBODY } from './fixtures/queue-config.ts';
import { ended, makeHost, queueSuite } from './fixtures/queue-suite.ts';

const Queue = queueSuite('watched tasks');

Queue('store streamed values as events, and their list as the result', async (context) => {
  const { queue, defer } = makeHost(context, async function* ({ n }, { progress }) {
    for (let i = 0; i < n; i += 1) {
      yield { i };
      progress(i / n);
    }
  });
  await queue.start();
  const id = await defer({ n: 600 });
  const values: unknown[] = [];
  const names = new Set<string>();
  let half = 0;
  for await (const { id: event, event: name, data } of await queue.as(ANYBODY).watch(id, {
    after: 0,
    signal: new AbortController().signal,
  })) {
    names.add(name);
    if (name === 'chunk') values.push(JSON.parse(data));
    if (values.length === 300 && half === 0) half = event;
  }
  const expected = Array.from({ length: 600 }, (_, i) => ({ i }));
  assert.equal(values, expected);
  assert.equal([...names].sort(), ['assigned', 'chunk', 'completed', 'created', 'progress', 'running']);
  assert.equal(JSON.parse((await queue.as(ANYBODY).get(id)).result ?? ''), expected);
  const rest: unknown[] = [];
  for await (const { event, data } of await queue.as(ANYBODY).watch(id, {
    after: half,
    signal: new AbortController().signal,
  }))
    if (event === 'chunk') rest.push(JSON.parse(data));
  assert.equal(rest, expected.slice(300));
});

Queue('receive events of many megabytes', async (context) => {
  const text = 'ü'.repeat(400_000);
  const { queue, defer } = makeHost(context, async function* ({ n }) {
    for (let index = 0; index < n; index += 1) yield { index, text };
  });
  await queue.start();
  const id = await defer({ n: 6 });
  await ended(queue, id);
  const seen: unknown[] = [];
  for await (const { event, data } of await queue
    .as(ANYBODY)
    .watch(id, { after: 0, signal: new AbortController().signal }))
    if (event === 'chunk') seen.push(JSON.parse(data));
  assert.equal(
    seen,
    [0, 1, 2, 3, 4, 5].map((index) => ({ index, text })),
  );
});

Queue.run();
