// Uploads in parts with the official client, over a real server and SQLite.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import type { AanaApp } from 'aana-host';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Parts = suite('uploads with the official client');
const folder = makeFolder();
const dataDir = join(folder, 'data');
let app: AanaApp;
let client: OpenAI;

Parts.before(async () => {
  app = await started(makeApp(folder, {}, { data_dir: dataDir, limits: { max_file_bytes: 100_000 } }));
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
Parts.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const NEW = { filename: 'talk é.jsonl', purpose: 'batch', mime_type: 'application/jsonl' } as const;

const partOf = async (id: string, content: string | Buffer): Promise<string> =>
  (await client.uploads.parts.create(id, { data: await toFile(Buffer.from(content), 'part') })).id;

const partsOnDisk = (): string[] => (existsSync(join(dataDir, 'uploads')) ? readdirSync(join(dataDir, 'uploads')) : []);

async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const { status, code, param } = await errorOf(work, APIError);
  return [status, code, param];
}

Parts('become a file of /v1/files', async () => {
  const upload = await client.uploads.create({
    ...NEW,
    bytes: 150_000,
    expires_after: { anchor: 'created_at', seconds: 3600 },
  });
  assert.match(upload.id, /^upload_[0-9a-f]{32}$/);
  assert.equal(
    [upload.object, upload.status, upload.file, upload.expires_at - upload.created_at],
    ['upload', 'pending', null, 3600],
  );
  const [b, a] = [await partOf(upload.id, 'b'.repeat(75_000)), await partOf(upload.id, 'a'.repeat(75_000))];
  const { status, file } = await client.uploads.complete(upload.id, { part_ids: [a, b] });
  assert.equal([status, file!.bytes, file!.filename, file!.purpose], ['completed', 150_000, NEW.filename, 'batch']);
  assert.is(file!.expires_at! - file!.created_at, 3600);
  const content = await (await client.files.content(file!.id)).text();
  assert.is(content, 'a'.repeat(75_000) + 'b'.repeat(75_000));
  assert.equal(await client.files.retrieve(file!.id), file as OpenAI.FileObject);
  assert.equal(partsOnDisk(), []);
});

Parts('are refused when they are wrong, and leave nothing when they are cancelled', async () => {
  const { id } = await client.uploads.create({ ...NEW, bytes: 3 });
  const part = await partOf(id, 'abc');
  assert.equal(await refusal(partOf(id, 'x'.repeat(100_001))), [413, 'request_too_large', null]);
  const complete = (request: OpenAI.UploadCompleteParams): Promise<unknown[]> =>
    refusal(client.uploads.complete(id, request));
  assert.equal(await complete({ part_ids: [part], md5: 'a' }), [400, null, 'md5']);
  assert.equal(await complete({ part_ids: [part], md5: 'a'.repeat(32) }), [400, null, 'md5']);
  assert.equal(await complete({ part_ids: [] }), [400, null, 'part_ids']);
  assert.equal(await complete({ part_ids: ['../../etc/passwd'] }), [400, null, 'part_ids[0]']);
  assert.equal(await complete({ part_ids: [part, part] }), [400, null, 'part_ids[1]']);
  assert.is((await client.uploads.cancel(id)).status, 'cancelled');
  assert.is((await client.uploads.cancel(id)).status, 'cancelled');
  assert.equal(await refusal(partOf(id, 'abc')), [409, 'upload_ended', null]);
  assert.equal(await complete({ part_ids: [part] }), [409, 'upload_ended', null]);
  assert.equal(partsOnDisk(), []);
});

Parts('need an upload', async () => {
  for (const id of ['upload_1', `upload_${'0'.repeat(32)}`, '..%2f..', 'x'.repeat(2000)]) {
    const none = [404, 'upload_not_found', 'upload_id'];
    assert.equal(await refusal(partOf(id, 'abc')), none);
    assert.equal(await refusal(client.uploads.cancel(id)), none);
    assert.equal(await refusal(client.uploads.complete(id, { part_ids: ['a'] })), none);
  }
  const create = (more: object): Promise<unknown[]> =>
    refusal(client.uploads.create({ ...NEW, bytes: 1, ...more } as OpenAI.UploadCreateParams));
  for (const bytes of [0, -1, 1.5, '1', 1e300]) assert.equal(await create({ bytes }), [400, null, 'bytes']);
  assert.equal(await create({ bytes: Number.MAX_SAFE_INTEGER }), [413, 'storage_full', 'bytes']);
  assert.equal(await create({ filename: '' }), [400, null, 'filename']);
  assert.equal(await create({ filename: 'a\0' }), [400, null, 'filename']);
  assert.equal(await create({ purpose: 'any' }), [400, null, 'purpose']);
  const { id } = await client.uploads.create({ ...NEW, bytes: 3 });
  const form = new FormData();
  form.append('file', new Blob(['abc']), 'a');
  const wrong = await fetch(`${app.url}/v1/uploads/${id}/parts`, { method: 'POST', body: form });
  assert.is(wrong.status, 400, await wrong.text());
  assert.equal(partsOnDisk(), []);
});

Parts.run();
