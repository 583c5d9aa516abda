import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { Profiler, requireMemory } from './profiler.ts';

const Profiles = suite('profiles of a process');
const never = new AbortController().signal;

async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}

Profiles('of the CPU are files for DevTools', async () => {
  const { nodes, startTime, endTime } = JSON.parse(await textOf(new Profiler().cpu(0.2, never))) as {
    nodes: { callFrame: { functionName: string } }[];
    startTime: number;
    endTime: number;
  };
  assert.ok(nodes.some(({ callFrame }) => callFrame.functionName === '(root)'));
  assert.ok(endTime - startTime >= 190_000, 'microseconds');
});

Profiles('of the heap have what is in memory', async () => {
  const secret = { marker: Buffer.from(`in-memory-${process.pid}`).toString() };
  const snapshot = JSON.parse(await textOf(new Profiler().heap(never))) as { snapshot: object; strings: string[] };
  assert.ok(snapshot.strings.includes(secret.marker));
});

Profiles('are made one at a time, and end when their reader leaves', async () => {
  const profiler = new Profiler();
  const leaving = new AbortController();
  const first = textOf(profiler.cpu(60, leaving.signal));
  const refused = await errorOf(textOf(profiler.heap(never)));
  assert.equal([refused.name, refused.kind], ['ProfileRefused', 'conflict']);
  leaving.abort(new Error('the reader left'));
  assert.is(await first.catch((error: Error) => error.message), 'the reader left');
  for await (const part of profiler.heap(never)) {
    assert.ok(part.length > 0);
    break; // a reader that has seen enough
  }
  assert.ok((await textOf(profiler.cpu(0.05, never))).startsWith('{'), 'the next one can begin');
});

Profiles('of the heap are refused where the memory is short', async () => {
  requireMemory(100, 200);
  const refused = await errorOf(Promise.resolve().then(() => requireMemory(2 ** 30, 2 ** 30)));
  assert.is(refused.kind, 'unavailable');
  assert.match(refused.message, '2048 MiB');
});

Profiles.run();
