// WebSockets pass the same guards as requests: API keys with scopes, rate limits, HTTPS.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../application/fixtures/test-app.ts';
import type { AanaApp } from '../../index.ts';
import { skip } from '../../test/skip.ts';
import { CertificateFolder, hasOpenssl } from '../fixtures/certificates.ts';
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
  for (const [name, scopes] of [['whole'], ['live', ['/asr/*']], ['tasks', ['tasks']]] as const)
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
