// Parts of OpenAI's API that this server does not have: the official client gets an error that says so.
import { rmSync } from 'node:fs';
import OpenAI, { NotFoundError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../application/fixtures/test-app.ts';
import type { AanaApp } from 'aana-host';
import { ABSENT_ROUTES } from './absent-routes.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Absent = suite('routes of OpenAI’s API that are absent');
const folder = makeFolder();
let app: AanaApp;
let client: OpenAI;

Absent.before(async () => {
  app = await started(makeApp(folder));
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' });
});
Absent.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

Absent('are refused with 404 and what is there instead, and the client does not repeat the request', async () => {
  const cases: readonly (readonly [work: () => Promise<unknown>, message: RegExp])[] = [
    [() => client.moderations.create({ input: 'a' }), /this server has no moderation: ask a language model/],
    [() => client.images.generate({ prompt: 'a', model: 'dall-e-3' }), /has no generation of images$/],
    [() => client.audio.speech.create({ input: 'a', model: 'tts-1', voice: 'alloy' }), /has no text to speech$/],
    [() => client.beta.threads.create(), /has no threads: POST \/v1\/responses/],
    [() => client.fineTuning.jobs.retrieve('a'), /has no fine-tuning$/],
    [() => client.conversations.items.list('conv_1'), /has no conversations/],
    [() => client.chat.completions.retrieve('chatcmpl-1'), /has no stored chat completions/],
  ];
  for (const [work, message] of cases) {
    const error = await errorOf(work(), NotFoundError);
    assert.equal([error.code, error.type, error.param], ['unknown_url', 'invalid_request_error', null]);
    assert.match(error.message, message);
  }
});

Absent('have one entry each, which no route of the server has', async () => {
  const paths = ABSENT_ROUTES.map(({ path }) => path);
  assert.is(new Set(paths).size, paths.length);
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as { paths: object };
  for (const path of paths)
    assert.not.ok(
      Object.keys(document.paths).some((route) => route === path || route.startsWith(`${path}/`)),
      path,
    );
});

Absent('are not paths that only begin alike', async () => {
  for (const path of ['/v1/filesystem', '/v1/nothing', '/images/generations']) {
    const text = await (await fetch(app.url + path, { method: 'POST' })).text();
    assert.match(text, `there is nothing at ${path}"`);
  }
});

Absent.run();
