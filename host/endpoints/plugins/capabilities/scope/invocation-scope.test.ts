import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../../base/core/deferred.ts';
import { FakePorts } from '../../fixtures/fake-ports.ts';
import { grantTo } from '../../rights/grants.ts';
import { defaultLimits } from '../../rights/limits.ts';
import type { PluginManifest } from '../../set/manifest.ts';
import type { Base64Bytes } from '../../sandbox/index.ts';
import type { HostReply } from '../../invocation/protocol.ts';
import { HeldChars } from './held-chars.ts';
import { RequestUrls } from './request-urls.ts';
import { InvocationScope, type InvocationScopeOptions } from './invocation-scope.ts';

const manifest: PluginManifest = {
  ...{
    dir: '/p',
    name: 'sample',
    version: '1.0.0',
    description: undefined,
    runtime: 'component',
    component: '/p/sample.wasm',
    entry: '/p/index.ts',
  },
  ...{
    capabilities: ['media', 'deployments', 'remote', 'vectors'],
    deployments: ['model'],
    hosts: [],
    limits: {},
    endpoints: {},
    settings: {},
  },
};
const scopeWith = (options: Partial<InvocationScopeOptions> = {}): InvocationScope =>
  new InvocationScope({
    ports: new FakePorts(),
    plugin: 'sample',
    context: { requestId: 'r' },
    files: new Map(),
    requestUrls: new RequestUrls('{}'),
    write: undefined,
    granted: grantTo(manifest, {}, defaultLimits),
    startHelper: undefined,
    ...options,
  });
const valueOf = <T>(reply: HostReply): T => {
  if ('error' in reply) throw new Error(`${reply.error.name}: ${reply.error.message}`);
  return reply.value as T;
};
const named = (reply: HostReply): string => ('error' in reply ? reply.error.name : 'no error');

const Scope = suite("the host's side of an invocation");

Scope('what the host does for a guest after the first wait of a call counts as computed by it', async () => {
  const ports = new FakePorts();
  ports.vectors = { read: () => Promise.resolve([] as never), write: () => Promise.resolve(undefined as never) };
  await using scope = scopeWith({ ports });
  let spent = 0;
  const estimated = async <T>(ms: number, asking: Promise<HostReply>): Promise<T> => {
    const value = valueOf<T>(await asking);
    const charged = scope.hostMs - spent;
    assert.ok(charged >= ms && charged < ms + 1000, `${charged} for ${ms}`); // with what the host itself computed
    spent = scope.hostMs;
    return value;
  };
  const { handle: video } = await estimated<{ handle: number }>(
    20,
    scope.answer({ operation: 'media.open', args: [{ path: '/v' }] }),
  );
  await estimated(20 + 2.25 / 2, scope.answer({ operation: 'media.extract-audio', args: [video, 'mix'] }));
  const { handle: image } = await estimated<{ handle: number }>(
    20,
    scope.answer({ operation: 'media.open-image', args: [{ path: '/i' }] }),
  );
  await estimated(
    20 + (640 * 480 + 100 * 100) / 1e5,
    scope.answer({ operation: 'media.image-pixels', args: [image, 100, 100] }),
  );
  const text = 'word '.repeat(12_000);
  const chunks = ['a', 'b'].map((id) => ({ id, document: undefined, text, metadata: '{}' }));
  const vectors = Buffer.alloc(2 * 8192 * 4, 1).toString('base64');
  await estimated(
    (2 * text.length) / 8000 + (2 * 8192) / 1e5,
    scope.answer({ operation: 'vectors.upsert', args: ['c', 'm', chunks, vectors] }),
  );
  const query = { vector: undefined, model: undefined, text, filter: undefined, limit: 1 };
  await estimated(text.length / 8000, scope.answer({ operation: 'vectors.search', args: ['c', query] }));
});

Scope('time for reading arguments and writing answers counts as computed by the guest', async () => {
  await using scope = scopeWith();
  const args = JSON.stringify({ audio: Array.from({ length: 200_000 }, (_, n) => ({ channels: n })) });
  valueOf(await scope.answer({ operation: 'deployments.call', args: ['model', 'echo', args, []] }));
  assert.ok(scope.hostMs > 1, `${scope.hostMs} ms`); // reading and writing 4 MB takes some on every machine
});

Scope('arguments with many objects name no file, wherever it stands', async () => {
  await using scope = scopeWith();
  const many = Array.from({ length: 1000 }, () => ({ channels: [{}] }));
  for (const hidden of ['{"channels":[{"path":"/etc/passwd"}]}', '{"\\u0063hannels":[{"p\\u0061th":"/etc/passwd"}]}']) {
    const args = `{"many":${JSON.stringify(many)},"a":[{"b":${hidden}}]}`;
    assert.is(
      named(await scope.answer({ operation: 'deployments.call', args: ['model', 'echo', args, []] })),
      'FilesDenied',
    );
  }
});

Scope(
  'what helpers were given and gave is held until they are dropped, for the invocation and for the plugin',
  async () => {
    const held = new HeldChars(1000);
    await using scope = scopeWith({ held, startHelper: async (_name, input) => input.repeat(2) });
    const start = (chars: number): Promise<HostReply> =>
      scope.answer({ operation: 'remote.start', args: ['h', 'x'.repeat(chars)] });
    const task = valueOf<number>(await start(400));
    assert.is(valueOf<string>(await scope.answer({ operation: 'remote.wait', args: [task] })).length, 800);
    assert.is(named(await start(300)), 'HeldTooMuch');
    const small = valueOf<number>(await start(190));
    assert.is(
      named(await scope.answer({ operation: 'remote.wait', args: [small] })),
      'HeldTooMuch',
      'its result is too much beside the other one',
    );
    scope.drop(task);
    scope.drop(small);
    valueOf(await start(400));
    await scope[Symbol.asyncDispose]();
    held.take(1000);
  },
);

Scope('pieces of a file that are being read are held until they are there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-pieces-'));
  try {
    const path = join(folder, 'file');
    await writeFile(path, 'a'.repeat(2000));
    const files = new Map([['f', { path, bytes: 2000 }]]);
    const held = new HeldChars(1000);
    await using scope = scopeWith({ held, files });
    const read = (length: number): Promise<HostReply> =>
      scope.answer({ operation: 'uploads.read-text', args: ['f', 0, length] });
    const replies = await Promise.all([read(600), read(600), read(400)]);
    assert.equal(replies.map(named), ['no error', 'HeldTooMuch', 'no error']);
    assert.is(valueOf<{ length: number }>(await read(1000)).length, 1000);
    await unlink(path);
    assert.is.not(named(await read(1000)), 'no error');
    held.take(1000);
  } finally {
    await rm(folder, { recursive: true });
  }
});

Scope('what a started call has opened is dropped when the guest gives the call up', async () => {
  const limits = { ...defaultLimits, handles: 1 };
  const ports = new FakePorts();
  const media = ports.openMediaScope();
  const opening = deferred<void>();
  ports.openMediaScope = () => ({ ...media, open: (...given) => opening.promise.then(() => media.open(...given)) });
  await using scope = scopeWith({ ports, granted: grantTo(manifest, {}, limits) });
  const start = (givenUp: AbortController): { reply: Promise<HostReply>; done: Promise<void> } => {
    const done = deferred<void>();
    const started = { signal: givenUp.signal, onDone: done.resolve };
    return { reply: scope.answer({ operation: 'media.open', args: [{ path: '/v' }] }, started), done: done.promise };
  };
  const [early, late] = [new AbortController(), new AbortController()];
  const first = start(early);
  early.abort();
  assert.is(named(await first.reply), 'AbortError');
  opening.resolve(); // it is opened after the call was given up
  await first.done;
  const second = start(late);
  valueOf(await second.reply);
  assert.is(named(await start(new AbortController()).reply), 'TooManyHandles');
  late.abort(); // nobody has taken its reply
  const { handle } = valueOf<{ handle: number }>(await start(new AbortController()).reply);
  assert.is(named(await scope.answer({ operation: 'media.extract-audio', args: [handle, 'mix'] })), 'TooManyHandles');
});

Scope('data of an error that are nested too deep for JSON.stringify reach the guest cut', async () => {
  const data: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));
  const ports = new FakePorts();
  Object.assign(ports.tooLong, { data });
  await using scope = scopeWith({ ports });
  const reply = await scope.answer({ operation: 'deployments.call', args: ['model', 'fails', '{}', []] });
  assert.is(named(reply), 'PromptTooLongException');
  assert.ok('error' in reply && reply.error.data.length < 1000);
});

Scope('frames that are files are returned as they are, and decoded for what they are not', async () => {
  const ports = new FakePorts();
  const decoded: string[] = [];
  const media = ports.openMediaScope();
  ports.openMediaScope = () => ({
    ...media,
    decodeImage: (file, work) => {
      decoded.push(Buffer.from(file).toString());
      return media.decodeImage(file, work);
    },
  });
  await using scope = scopeWith({ ports });
  const { handle: video } = valueOf<{ handle: number }>(
    await scope.answer({ operation: 'media.open', args: [{ path: '/v' }] }),
  );
  const options = JSON.stringify({ times: [1, 2], format: 'jpeg' });
  const frames = valueOf<number>(await scope.answer({ operation: 'media.frames', args: [video, options] }));
  const encoded = async (image: number, encoding: object | null): Promise<string> => {
    const reply = await scope.answer({ operation: 'media.encode', args: [image, JSON.stringify(encoding)] });
    return Buffer.from(valueOf<Base64Bytes>(reply).bytes).toString();
  };
  for (const time of [1, 2]) {
    assert.is(valueOf(await scope.answer({ operation: 'media.next-frame', args: [frames] })), time);
    const { handle, info } = valueOf<{ handle: number; info: object }>(
      await scope.answer({ operation: 'media.frame-image', args: [frames] }),
    );
    assert.equal(info, { width: 64, height: 48, format: 'mjpeg' });
    const before = scope.hostMs;
    for (const same of [{ format: 'jpeg' }, { format: 'jpeg', quality: 85 }])
      assert.is(await encoded(handle, same), `jpeg of frame ${time}`);
    assert.ok(scope.hostMs - before < 20, 'no process was charged');
    assert.equal(decoded.splice(0), []);
    for (const other of [{ format: 'png' }, { format: 'jpeg', quality: 84 }, { format: 'jpeg', max_width: 9 }])
      assert.match(await encoded(handle, other), /of decoded$/);
    await scope.answer({ operation: 'media.image-pixels', args: [handle, 2, 1] });
    assert.equal(decoded.splice(0), [`jpeg of frame ${time}`], 'once for each frame');
  }
  assert.is(valueOf(await scope.answer({ operation: 'media.next-frame', args: [frames] })), undefined);
});

Scope('files of frames that a guest keeps count as held, and those that it drops do not', async () => {
  const ports = new FakePorts();
  const file = Buffer.alloc(1024 * 1024);
  const media = ports.openMediaScope();
  ports.openMediaScope = () => ({
    ...media,
    open: async (...given) =>
      Object.assign(await media.open(...given), {
        frameFiles: async function* () {
          for (let time = 0; time < 100; time++) yield { time, width: 64, height: 48, file };
        },
      }),
  });
  for (const drops of [true, false]) {
    await using scope = scopeWith({ ports });
    const { handle: video } = valueOf<{ handle: number }>(
      await scope.answer({ operation: 'media.open', args: [{ path: '/v' }] }),
    );
    const options = JSON.stringify({ every: 1, format: 'jpeg' });
    const frames = valueOf<number>(await scope.answer({ operation: 'media.frames', args: [video, options] }));
    const names = new Set<string>();
    for (let count = 0; count < 100 && !names.has('HeldTooMuch'); count++) {
      names.add(named(await scope.answer({ operation: 'media.next-frame', args: [frames] })));
      if (names.has('HeldTooMuch')) break;
      const reply = await scope.answer({ operation: 'media.frame-image', args: [frames] });
      if (drops) scope.drop(valueOf<{ handle: number }>(reply).handle);
    }
    assert.is(names.has('HeldTooMuch'), !drops);
  }
});

Scope.run();
