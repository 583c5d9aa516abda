import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../base/core/deferred.ts';
import type { Frame } from '../../rpc/frames.ts';
import { Connections } from './connections.ts';

const All = suite('the connections of a replica');

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

All('get no calls that belong to a call of a connection before them', async () => {
  const connections = new Connections(4);
  const gate = deferred();
  const errors: string[] = [];
  connections.serve({
    ask: async (_args, { id }) => {
      await gate.promise; // whether it was cancelled or not
      return connections.host.call('x', {}, { call: id }).catch((error: Error) => errors.push(error.message));
    },
  });
  connections.add(() => {});
  const gone = connections.add(() => {});
  gone.onFrame({ type: 'call', id: 1, method: 'ask', args: {}, stream: false });
  gone.close();
  const sent: Frame[] = [];
  connections.add((frame) => sent.push(frame));
  gate.resolve();
  await turn();
  assert.equal(errors, ['the caller is gone']);
  assert.equal(
    sent.filter(({ type }) => type === 'call'),
    [],
  );
});

All('say that they have begun all calls that have come, before the first one holds the process', async () => {
  const connections = new Connections(4);
  const order: string[] = [];
  connections.serve({ hold: async (_args, { id }) => void order.push(`${id} runs`) });
  const note = (frame: Frame): void => void ('id' in frame && order.push(`${frame.id} ${frame.type}`));
  const one = connections.add(note, { readsFirst: true });
  for (const id of [1, 2, 3]) one.onFrame({ type: 'call', id, method: 'hold', args: {}, stream: false });
  one.onFrame({ type: 'cancel', id: 2 });
  await turn();
  await turn();
  assert.equal(order.slice(0, 3), ['1 begun', '2 begun', '3 begun']);
  assert.equal(
    order.filter((step) => step.endsWith('runs')),
    ['1 runs', '3 runs'],
  );
  assert.ok(order.includes('2 error'));
});

for (const id of [-1, 0.5, 2 ** 40, Number.POSITIVE_INFINITY])
  All(`refuse ${id} as the number of a call, which another connection could have`, () => {
    const connections = new Connections(4);
    connections.serve({ ask: async () => null });
    const one = connections.add(() => {});
    assert.throws(
      () => one.onFrame({ type: 'call', id, method: 'ask', args: {}, stream: false }),
      `${id} is no number of a call`,
    );
  });

All.run();
