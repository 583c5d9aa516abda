// Files with the official client, over a real server and SQLite.
import { createReadStream, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { AanaApp } from 'aana-host';

const Files = suite('files with the official client');
let folder: string;
let app: AanaApp;
let ann: OpenAI;
let bob: OpenAI;

Files.before(async () => {
  folder = makeFolder();
  app = await started(
    makeApp(
      folder,
      {},
      {
        cache_dir: process.env['AANA_CACHE_DIR'] ?? folder,
        api_service: { enabled: true },
        limits: { max_file_bytes: 4_000_000 },
        openai: { files: { maximum_stored_bytes_per_user: 5_000_000 } },
      },
    ),
  );
  [ann, bob] = (await Promise.all(
    ['ann', 'bob'].map(async (user) => {
      const { apiKey } = await app.apiKeys!.create({ user_id: user });
      return new OpenAI({ baseURL: `${app.url}/v1`, apiKey, maxRetries: 0 });
    }),
  )) as [OpenAI, OpenAI];
});
Files.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

/** Runs work that must fail, and returns the status, the code and the parameter of its error. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const { status, code, param } = await errorOf(work, APIError);
  return [status, code, param];
}

const NOT_FOUND = [404, 'file_not_found', 'file_id'];

Files('are stored from a stream, listed, read and deleted by their user only', async () => {
  const path = join(folder, 'überschrift "1".jsonl');
  writeFileSync(path, '{"a":1}\n'.repeat(100_000));
  const made = await ann.files.create({ file: createReadStream(path), purpose: 'batch' });
  const { id, created_at: createdAt, ...facts } = made;
  assert.match(id, /^file-[0-9a-f]{32}$/);
  assert.equal(facts, {
    object: 'file',
    bytes: 800_000,
    expires_at: createdAt + 2_592_000,
    filename: 'überschrift "1".jsonl',
    purpose: 'batch',
    status: 'processed',
  });
  assert.equal(await ann.files.retrieve(id), made);
  assert.is((await ann.files.waitForProcessing(id)).id, id);
  const content = await ann.files.content(id);
  assert.equal(
    ['content-type', 'content-length', 'x-content-type-options'].map((name) => content.headers.get(name)),
    ['application/octet-stream', '800000', 'nosniff'],
  );
  assert.match(content.headers.get('content-disposition')!, /^attachment; /);
  assert.is(await content.text(), '{"a":1}\n'.repeat(100_000));

  for (const work of [bob.files.retrieve(id), bob.files.content(id), bob.files.delete(id)])
    assert.equal(await refusal(work), NOT_FOUND);
  assert.equal((await bob.files.list()).data, []);
  assert.equal(await ann.files.delete(id), { id, object: 'file', deleted: true });
  assert.equal(await refusal(ann.files.content(id)), NOT_FOUND);
  assert.equal(readdirSync(join(folder, 'data', 'files')), []);
});

Files('are listed in pages, also while they are deleted', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const file = await toFile(Buffer.from(`${n}`), `${n}.txt`);
    const purpose = n === 4 ? ('batch' as const) : ('user_data' as const);
    ids.push((await ann.files.create({ file, purpose, expires_after: { anchor: 'created_at', seconds: 3600 } })).id);
  }
  const first = await ann.files.list({ limit: 2, order: 'asc' });
  assert.equal([first.data.map(({ id }) => id), first.has_more], [ids.slice(0, 2), true]);
  assert.is(first.data[0]!.expires_at, first.data[0]!.created_at + 3600);
  assert.equal(
    (await ann.files.list({ purpose: 'batch' })).data.map(({ id }) => id),
    [ids[4]],
  );
  const seen: string[] = [];
  for await (const { id } of ann.files.list({ limit: 2 })) {
    seen.push(id);
    await ann.files.delete(id);
  }
  assert.equal(seen, ids.toReversed());
  assert.equal(await refusal(ann.files.list({ after: 'nothing' })), [400, null, 'after']);
  assert.is((await refusal(ann.files.list({ limit: 0 })))[0], 400);
});

Files('that are wrong or too large are refused', async () => {
  const file = await toFile(Buffer.from('x'), 'x.txt');
  const create = (given: object): Promise<unknown> =>
    ann.files.create({ file, purpose: 'batch', ...given } as OpenAI.FileCreateParams);
  assert.equal(await refusal(create({ purpose: 'fun' })), [400, null, 'purpose']);
  assert.equal(await refusal(create({ purpose: undefined })), [400, 'missing_required_parameter', 'purpose']);
  assert.equal(await refusal(create({ file: undefined })), [400, 'missing_required_parameter', 'file']);
  for (const seconds of [3599, 2_592_001, 0.5])
    assert.equal(await refusal(create({ expires_after: { anchor: 'created_at', seconds } })), [
      400,
      null,
      'expires_after.seconds',
    ]);
  assert.equal(await refusal(create({ expires_after: { anchor: 'now', seconds: 3600 } })), [
    400,
    null,
    'expires_after.anchor',
  ]);
  const long = await toFile(Buffer.from('x'), `${'x'.repeat(300)}.txt`);
  assert.equal(await refusal(create({ file: long })), [400, null, 'file']);
  const large = await toFile(Buffer.alloc(4_000_001), 'large.bin');
  assert.equal((await refusal(create({ file: large }))).slice(0, 2), [413, 'request_too_large']);
  const half = await toFile(Buffer.alloc(3_000_000), 'half.bin');
  const { id } = (await create({ file: half })) as OpenAI.FileObject;
  assert.equal((await refusal(create({ file: half }))).slice(0, 2), [413, 'storage_full']);
  await ann.files.delete(id);
  const json = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ann.apiKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  assert.is(json.status, 415);
  const empty = (await create({ file: await toFile(Buffer.alloc(0), 'empty.txt') })) as OpenAI.FileObject;
  assert.is(await (await ann.files.content(empty.id)).text(), '');
  await ann.files.delete(empty.id);
  assert.equal(readdirSync(join(folder, 'data', 'files')), []);
});

Files.run();
