import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { grantTo, type PluginGrants } from '../rights/grants.ts';
import { defaultLimits } from '../rights/limits.ts';
import type { PluginManifest } from '../set/manifest.ts';
import type { HostCall, HostReply } from '../invocation/protocol.ts';
import { InvocationScope } from './scope/invocation-scope.ts';
import { RequestUrls } from './scope/request-urls.ts';

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
    capabilities: ['repositories', 'repositories-write'],
    deployments: [],
    hosts: [],
    limits: {},
    endpoints: {},
    settings: {},
  },
};

interface Context {
  storage: Storage;
  ask(call: HostCall): Promise<HostReply>;
}

const databases = sqliteDatabases();
const Repositories = suite<Context>('what a guest asks of repositories');

const scopeWith = (storage: Storage, grants: PluginGrants): InvocationScope => {
  const ports = Object.assign(new FakePorts(), { repositories: storage });
  return new InvocationScope({
    ports,
    plugin: 'sample',
    context: { requestId: 'r' },
    files: new Map(),
    requestUrls: new RequestUrls('{}'),
    write: undefined,
    granted: grantTo(manifest, grants, defaultLimits),
    startHelper: undefined,
  });
};
const named = (reply: HostReply): string =>
  'error' in reply ? `${reply.error.kind} ${reply.error.name}` : `it gave ${String(reply.value)}`;
const valueOf = <T>(reply: HostReply): T => {
  if ('error' in reply) throw new Error(reply.error.message);
  return reply.value as T;
};

Repositories.before.each(async (context) => {
  context.storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  const scope = scopeWith(context.storage, { sample: { capabilities: ['*'] } });
  context.ask = (call) => scope.answer(call);
  await context.storage.write(({ videos }) => videos.save({ media_id: 'v' }));
});
Repositories.after.each(({ storage }) => storage.close());
Repositories.after(() => databases.end());

const caption = { mediaId: 'v', model: 'm', frameId: 0, caption: 'c', timestamp: 0 };
const transcript = { mediaId: 'v', model: 'm', transcript: 't', segments: '[]', language: 'en', languageConfidence: 1 };
const long = (length: number): string => 'x'.repeat(length);
const save = (more: object): HostCall => ({
  operation: 'repositories-write.save-captions',
  args: [[caption, { ...caption, ...more }]],
});
const keep = (more: object): HostCall => ({
  operation: 'repositories-write.save-transcript',
  args: [{ ...transcript, ...more }],
});

const refused: readonly (readonly [what: string, call: HostCall, error: string])[] = [
  ['an id that is empty', { operation: 'repositories.media-exists', args: [''] }, 'invalid-input ValidationError'],
  [
    'an id that is too long',
    { operation: 'repositories.read-video', args: [long(256)] },
    'invalid-input ValidationError',
  ],
  ['an id with U+0000', { operation: 'repositories.read-video', args: ['v\0'] }, 'invalid-input ValidationError'],
  [
    'a place that is no number',
    { operation: 'repositories.list-captions', args: ['v', { timestamp: Number.NaN, id: 1 }, 5] },
    'invalid-input ValidationError',
  ],
  [
    'a place that no row can have',
    { operation: 'repositories.list-captions', args: ['v', { timestamp: 0, id: Number.POSITIVE_INFINITY }, 5] },
    'invalid-input ValidationError',
  ],
  [
    'a place among transcripts that no row can have',
    { operation: 'repositories.list-transcripts', args: ['v', 0.5, 5] },
    'invalid-input ValidationError',
  ],
  ['a row that there is not', { operation: 'repositories.read-caption', args: [77] }, 'not-found NotFoundException'],
  [
    'a number that no row can have',
    { operation: 'repositories.read-transcript', args: [2 ** 64] },
    'not-found NotFoundException',
  ],
  [
    'a media twice',
    { operation: 'repositories-write.save-video', args: [{ mediaId: 'v' }] },
    'conflict MediaIdAlreadyExistsException',
  ],
  [
    'a media twice, of another kind',
    { operation: 'repositories-write.create-media', args: ['v', 'image'] },
    'conflict MediaIdAlreadyExistsException',
  ],
  [
    'a title that is too long',
    { operation: 'repositories-write.save-video', args: [{ title: long(4097) }] },
    'invalid-input ValidationError',
  ],
  ['a time that is no number', save({ timestamp: Number.NaN }), 'invalid-input ValidationError'],
  ['a time without an end', save({ timestamp: Number.POSITIVE_INFINITY }), 'invalid-input ValidationError'],
  ['a frame that no database can keep', save({ frameId: 2 ** 32 - 1 }), 'invalid-input ValidationError'],
  ['a caption that is too long', save({ caption: long(16_385) }), 'invalid-input ValidationError'],
  ['a caption of a media that there is not', save({ mediaId: 'none' }), 'not-found NotFoundException'],
  [
    'too many captions',
    { operation: 'repositories-write.save-captions', args: [Array.from({ length: 1001 }, () => caption)] },
    'too-large ArgumentsTooLarge',
  ],
  [
    'captions that are too much',
    {
      operation: 'repositories-write.save-captions',
      args: [Array.from({ length: 300 }, () => ({ ...caption, caption: long(16_000) }))],
    },
    'too-large ArgumentsTooLarge',
  ],
  ['a confidence that is no number', keep({ languageConfidence: Number.NaN }), 'invalid-input ValidationError'],
  ['segments that are no JSON', keep({ segments: '[' }), 'invalid-input ValidationError'],
  ['segments that are no array', keep({ segments: '{"length":1}' }), 'invalid-input ValidationError'],
  [
    'segments that are too deep',
    keep({ segments: '['.repeat(100_000) + ']'.repeat(100_000) }),
    'invalid-input ValidationError',
  ],
  ['a text that is too long', keep({ transcript: long(4 * 1024 * 1024) }), 'too-large ArgumentsTooLarge'],
  [
    'a media to remove that there is not',
    { operation: 'repositories-write.delete-media', args: ['none'] },
    'not-found NotFoundException',
  ],
];
for (const [what, call, error] of refused) {
  Repositories(`${what} is refused, and nothing is kept`, async ({ ask, storage }) => {
    assert.is(named(await ask(call)), error);
    const kept = await storage.read(async ({ videos, captions, transcripts }) =>
      [await videos.list(), await captions.list('v'), await transcripts.list('v')].map(({ length }) => length),
    );
    assert.equal(kept, [1, 0, 0]);
  });
}

Repositories('lists have 200 entries at most, whatever is asked for', async ({ ask, storage }) => {
  await storage.write(({ captions }) =>
    captions.saveAll(
      Array.from({ length: 250 }, (_, n) => ({ media_id: 'v', model: 'm', frame_id: n, caption: 'c', timestamp: n })),
    ),
  );
  const page = valueOf<{ timestamp: number; id: number }[]>(
    await ask({ operation: 'repositories.list-captions', args: ['v', undefined, 4_294_967_295] }),
  );
  assert.is(page.length, 200);
  assert.is(
    valueOf<unknown[]>(await ask({ operation: 'repositories.list-captions', args: ['v', page.at(-1), 200] })).length,
    50,
  );
  assert.equal(valueOf(await ask({ operation: 'repositories.list-captions', args: ['none', undefined, 0] })), []);
});

Repositories('who may read may not write, and nobody may without a word of the operator', async ({ storage }) => {
  await using reader = scopeWith(storage, {});
  assert.is(valueOf(await reader.answer({ operation: 'repositories.media-exists', args: ['v'] })), true);
  assert.is(
    named(await reader.answer({ operation: 'repositories-write.delete-media', args: ['v'] })),
    'denied CapabilityDenied',
  );
  await using writer = scopeWith(storage, { '*': { capabilities: ['repositories-write'] } });
  assert.is(
    named(await writer.answer({ operation: 'repositories.read-video', args: ['v'] })),
    'denied CapabilityDenied',
  );
  valueOf(await writer.answer({ operation: 'repositories-write.delete-media', args: ['v'] }));
});

Repositories.run();
