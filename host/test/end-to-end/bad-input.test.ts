// Every mistake gets a clear error with the four keys, and the server continues.
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort, post, type RunningServer, serve } from '../helpers/server.ts';

const BadInput = suite('bad input');

let server: RunningServer;
let folder: string;
let refusedPort: number;

BadInput.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-bad-'));
  await writeFile(join(folder, 'text.mp4'), 'this is not a video');
  await symlink('/etc/hostname', join(folder, 'link.mp4'));
  refusedPort = await freePort();
  await writeFile(join(folder, 'broken.wasm'), 'not a component');
  server = await serve({ flags: ['--allow-path', folder], config: { limits: { max_body_bytes: 1_000_000 } } });
});

BadInput.after(async () => {
  assert.is((await fetch(`${server.url}/api/ready`)).status, 200, 'the server stopped serving');
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Failure {
  readonly error: string;
  readonly message: string;
  readonly data: unknown;
  readonly stacktrace: unknown;
}

async function failure(response: Promise<Response>, status: number): Promise<Failure> {
  const got = await response;
  const text = await got.text();
  assert.is(got.status, status, text);
  const body = JSON.parse(text) as Failure;
  assert.equal(Object.keys(body), ['error', 'message', 'data', 'stacktrace']);
  assert.is(body.stacktrace, null);
  assert.ok(body.message.length > 0);
  return body;
}

const transcribe = (body: unknown, files: Parameters<typeof post>[2] = {}): Promise<Response> =>
  post(`${server.url}/video/transcribe`, body, files);
const locations = ({ data }: Failure): string[] => (data as { loc: unknown[] }[]).map(({ loc }) => loc.join('.'));
const types = ({ data }: Failure): string[] => (data as { type: string }[]).map(({ type }) => type);

BadInput('a body that is not JSON is a 422', async () => {
  const body = await failure(transcribe('{"video":'), 422);
  assert.is(body.error, 'ValidationError');
  assert.equal(types(body), ['json_invalid']);
});

BadInput('a request without the field body is a 422 that names it', async () => {
  const form = new FormData();
  form.set('other', '1');
  const body = await failure(fetch(`${server.url}/video/transcribe`, { method: 'POST', body: form }), 422);
  assert.match(JSON.stringify(body.data), /body/);
});

BadInput('missing and unknown keys are a 422 that names each', async () => {
  const missing = await failure(transcribe({}), 422);
  assert.equal([locations(missing), types(missing)], [['video'], ['missing']]);
  const unknown = await failure(transcribe({ video: { url: 'http://example.com/a.mp4', speed: 2 }, volume: 1 }), 422);
  assert.equal(locations(unknown).sort(), ['video.speed', 'volume']);
});

BadInput('none or two of url, path and content are a 422', async () => {
  for (const video of [{}, { url: 'http://example.com/a.mp4', path: '/a.mp4' }]) {
    const body = await failure(transcribe({ video }), 422);
    assert.match(JSON.stringify(body.data), /Exactly one of 'path', 'url', or 'content'/);
    assert.equal(locations(body), ['video']);
  }
});

BadInput('a reference to a missing part, and a part without a reference, are a 422 that names the part', async () => {
  assert.match(JSON.stringify(await failure(transcribe({ video: { content: 'clip' } }), 422)), /clip/);
  const body = await failure(
    transcribe(
      { video: { content: 'clip' } },
      { clip: { data: new Uint8Array(4) }, spare: { data: new Uint8Array(4) } },
    ),
    422,
  );
  assert.match(JSON.stringify(body), /spare/);
});

BadInput('an address without an answer is a 400 that names it', async () => {
  const body = await failure(transcribe({ video: { url: 'http://192.0.2.1.invalid/a.mp4' } }), 400);
  assert.is(body.error, 'DownloadException');
  assert.match(JSON.stringify(body), /192\.0\.2\.1\.invalid/);
});

BadInput('a private address is a 403 that explains how to allow it', async () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '169.254.169.254', '10.0.0.1']) {
    const body = await failure(transcribe({ video: { url: `http://${host}:${refusedPort}/a.mp4` } }), 403);
    assert.match(body.message, /allow-private-urls/);
  }
});

BadInput('a path outside the allowed directories is a 403, even through a symbolic link and ..', async () => {
  for (const path of ['/etc/passwd', join(folder, 'link.mp4'), `${folder}/../../etc/passwd`]) {
    assert.match((await failure(transcribe({ video: { path } }), 403)).message, /allow-path/);
  }
});

BadInput('a file that is not media is a 400', async () => {
  const byPath = await failure(transcribe({ video: { path: join(folder, 'text.mp4') } }), 400);
  assert.is(byPath.error, 'VideoReadingException');
  await failure(transcribe({ video: { content: 'clip' } }, { clip: { data: Buffer.from('not media either') } }), 400);
  await failure(transcribe({ video: { content: 'clip' } }, { clip: { data: new Uint8Array(0) } }), 400);
});

BadInput('an upload over the limit is a 413', async () => {
  await failure(transcribe({ video: { content: 'clip' } }, { clip: { data: new Uint8Array(2_000_000) } }), 413);
});

BadInput('a streaming endpoint answers a mistake with its status before the first byte', async () => {
  await failure(post(`${server.url}/video/summarize_stream`, { video: { path: join(folder, 'text.mp4') } }), 400);
});

BadInput('unknown paths and methods give the same four keys', async () => {
  await failure(fetch(`${server.url}/nothing/here`), 404);
  const response = fetch(`${server.url}/video/transcribe`);
  await failure(
    response.then((one) => one.clone()),
    405,
  );
  assert.match((await response).headers.get('allow') ?? '', /POST/);
});

BadInput('a parameter of the model out of range is refused by name', async () => {
  const body = await failure(
    transcribe({ video: { url: 'http://example.com/a.mp4' }, whisper_params: { beam_size: 0 } }),
    422,
  );
  assert.equal(locations(body), ['whisper_params.beam_size']);
});

BadInput.run();
