// WebSockets pass the same guards as requests: API keys with scopes, rate limits, HTTPS.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import type { AanaApp } from 'aana-host';
import { skip } from '../../../test/skip.ts';
import { CertificateFolder, hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { ParrotDeployment } from './fixtures/parrot-deployment.ts';
import { refusalOf, SocketClient } from './fixtures/socket-client.ts';

const Access = suite('access to WebSockets');
const folder = makeFolder();
const certificates = new CertificateFolder();

let app: AanaApp;
let url = '';
const keys: Record<string, string> = {};

Access.before(async () => {
  app = makeApp(
    folder,
    {},
    {
      api_service: { enabled: true },
      ...(hasOpenssl && { tls: certificates.make('server') }),
    },
  );
  await started(app.registerDeployment('parrot', ParrotDeployment.options()));
  url = `${app.url!.replace('http', 'ws')}/asr/live`;
  for (const [name, scopes] of [
    ['whole'],
    ['live', ['/asr/*']],
    ['tasks', ['tasks']],
    ['parrot', ['model:parrot']],
    ['nobody', ['model:nobody']],
  ] as const)
    keys[name] = (await app.apiKeys!.create({ user_id: name, ...(scopes && { scopes: [...scopes] }) })).apiKey;
});
Access.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
  certificates[Symbol.dispose]();
});

const insecure = { rejectUnauthorized: false } as const; // the certificate is signed by itself
const withKey = (key: string) => ({ ...insecure, headers: { 'x-api-key': key } });

Access('is refused without a key, with an unknown key, and with a key for other paths', async () => {
  const none = await refusalOf(url, insecure);
  assert.equal([none.status, none.body.error], [401, 'ApiKeyNotProvided']);
  const unknown = await refusalOf(url, withKey(`${keys['whole']!.slice(0, -4)}0000`));
  assert.equal([unknown.status, unknown.body.error], [401, 'ApiKeyNotFound']);
  const other = await refusalOf(url, withKey(keys['tasks']!));
  assert.equal([other.status, other.body.error], [403, 'InsufficientScope']);
});

Access('is given by a key in a header, or among the subprotocols, which the server does not choose', async () => {
  for (const key of [keys['whole']!, keys['live']!]) {
    const client = await SocketClient.open(url, withKey(key));
    assert.is((await client.transcribe(Buffer.alloc(2))).at(-1).type, 'end');
    const page = await SocketClient.open(url, { ...insecure, protocols: [`aana-api-key.${key}`, 'aana-live'] });
    assert.is(page.socket.protocol, 'aana-live');
    assert.is((await page.transcribe(Buffer.alloc(2))).at(-1).type, 'end');
  }
  const wrong = await refusalOf(url, { ...insecure, protocols: ['aana-api-key.wrong', 'aana-live'] });
  assert.equal([wrong.status, wrong.body.error], [401, 'ApiKeyNotFound']);
});

Access('is given to sessions of OpenAI’s realtime API by a key among the subprotocols of its clients', async () => {
  const realtime = url.replace('/asr/live', '/v1/realtime');
  const offer = (key: string) => ({ ...insecure, protocols: ['realtime', `openai-insecure-api-key.${key}`] });
  const page = await SocketClient.open(realtime, offer(keys['whole']!));
  assert.equal([page.socket.protocol, (await page.message(0)).type], ['realtime', 'session.created']);
  page.socket.terminate();
  const one = await SocketClient.open(`${realtime}?model=parrot`, offer(keys['parrot']!));
  assert.is((await one.message(0)).session.audio.input.transcription.model, 'parrot');
  one.socket.terminate();
  const hidden = await refusalOf(`${realtime}?model=parrot`, offer(keys['nobody']!));
  assert.equal([hidden.status, hidden.body.error.code], [404, 'model_not_found']);
  const wrong = await refusalOf(realtime, offer('wrong'));
  assert.equal([wrong.status, wrong.body.error.code], [401, 'invalid_api_key']);
  const other = await refusalOf(realtime, offer(keys['live']!));
  assert.equal([other.status, other.body.error.code], [403, 'insufficient_permissions']);
});

Access('counts for the rate limits', async () => {
  await using limited = makeApp(
    makeFolder(),
    {},
    { rate_limits: { default: { capacity: 1, interval_seconds: 3600 } } },
  );
  await started(limited.registerDeployment('parrot', ParrotDeployment.options()));
  const at = `${limited.url!.replace('http', 'ws')}/asr/live`;
  (await SocketClient.open(at)).socket.terminate();
  const { status, body, headers } = await refusalOf(at);
  assert.equal([status, body.error, headers['retry-after']], [429, 'TooManyRequestsException', '3600']);
});

if (hasOpenssl) Access.run();
else skip('access to WebSockets', 'openssl is missing');
