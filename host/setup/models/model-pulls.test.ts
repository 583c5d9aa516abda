import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { type HeldHub, startHeldHub } from './fixtures/held-hub.ts';
import { ModelPulls, type PullState } from './model-pulls.ts';
import { ModelStore } from './store.ts';

const ID = 'owner/tiny/tiny.gguf';

interface Context {
  cacheDir: string;
  hub: HeldHub;
  store: ModelStore;
  ending: AbortController;
  pulls: ModelPulls;
}

const Pulls = suite<Context>('ModelPulls');

Pulls.before.each(async (context) => {
  context.cacheDir = await mkdtemp(path.join(tmpdir(), 'aana-pulls-'));
  context.hub = await startHeldHub();
  context.store = new ModelStore({ cacheDir: context.cacheDir, log: silentLogger, hfEndpoint: context.hub.url });
  context.ending = new AbortController();
  context.pulls = new ModelPulls({ store: context.store, log: silentLogger, signal: context.ending.signal });
});
Pulls.after.each(async ({ cacheDir, hub, ending }) => {
  ending.abort();
  await hub[Symbol.asyncDispose]();
  await rm(cacheDir, { recursive: true, force: true });
});

const never = new AbortController().signal;

/** Follows a pull to its end, or until it has bytes. Returns its last state. */
async function last(states: AsyncIterable<PullState>, until: 'ended' | 'begun' = 'ended'): Promise<PullState> {
  let found: PullState | undefined;
  for await (const state of states) {
    found = state;
    if (until === 'begun' && state.bytes > 0) break;
  }
  return found!;
}

Pulls('pulls a model once for all who ask, and tells its progress', async ({ pulls, hub, store }) => {
  const begun = await last(pulls.pull(ID, never), 'begun');
  assert.equal(begun, { state: 'pulling', text: 'downloading', bytes: 500, total: 1000 });
  assert.equal([...pulls.states().keys()], [ID]);
  const both = [last(pulls.pull(ID, never)), last(pulls.pull(ID, never))];
  hub.release();
  for (const end of await Promise.all(both)) assert.equal([end.state, end.bytes], ['done', 1000]);
  assert.is((await store.resolve(ID))?.bytes, 1000);
  assert.is(pulls.states().size, 0);
});

Pulls('goes on when the one who asked leaves', async ({ pulls, hub }) => {
  const leaving = new AbortController();
  const states = pulls.pull(ID, leaving.signal);
  await states.next();
  leaving.abort();
  await states.next().catch(() => {});
  assert.is(pulls.states().get(ID)?.state, 'pulling');
  hub.release();
  assert.is((await last(pulls.pull(ID, never))).state, 'done');
});

Pulls('is cancelled, and the next pull can succeed', async ({ pulls, hub }) => {
  await last(pulls.pull(ID, never), 'begun');
  assert.is(await pulls.cancel(ID), true);
  assert.is(pulls.states().get(ID)?.state, 'cancelled');
  assert.is(await pulls.cancel(ID), false);
  hub.release();
  assert.is((await last(pulls.pull(ID, never))).state, 'done');
});

Pulls('keeps the reason of a pull that failed until the next one', async ({ pulls }) => {
  const end = await last(pulls.pull('owner/none/none.gguf', never));
  assert.is(end.state, 'failed');
  assert.match(end.text, 'owner/none/none.gguf could not be fetched');
  assert.equal(pulls.states().get('owner/none/none.gguf'), end);
  pulls.forget('owner/none/none.gguf');
  assert.is(pulls.states().size, 0);
});

Pulls('refuses a fifth pull at the same time', async ({ pulls }) => {
  for (const file of ['a', 'b', 'c', 'd']) await pulls.pull(`owner/tiny/${file}.gguf`, never).next();
  assert.throws(
    () => pulls.pull(ID, never),
    (error: unknown) => error instanceof AanaError && error.name === 'TooManyPulls',
  );
});

Pulls('knows the ids of the list, and refuses paths and tools', async ({ store }) => {
  assert.equal(await Promise.all(['whisper-base', 'WHISPER-BASE:q8_0', ID, 'owner/tiny'].map((id) => store.idOf(id))), [
    'whisper-base',
    'whisper-base',
    ID,
    'owner/tiny',
  ]);
  for (const [id, name] of [
    ['/etc/passwd', 'InvalidInput'],
    ['../x.gguf', 'InvalidInput'],
    ['speech-sample', 'ModelNotFound'],
    ['none', 'ModelNotFound'],
  ] as const)
    assert.is(await store.idOf(id).catch((error: AanaError) => error.name), name, id);
});

Pulls.run();
