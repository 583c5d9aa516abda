import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClientSecret, ClientSecrets } from './client-secrets.ts';
import { AccessError } from './errors.ts';

const Secrets = suite('client secrets');
const folder = mkdtempSync(join(tmpdir(), 'aana-secrets-'));
Secrets.after(() => rmSync(folder, { recursive: true, force: true }));

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const secretOf = (expiresAt = inSeconds(60)): ClientSecret => ({
  key: { id: 'key-1', userId: 'ann' },
  session: { prompt: 'Grüße' },
  expiresAt,
});

Secrets('open on all hosts that share the folder, also if they begin at the same time', async () => {
  const hosts = Array.from({ length: 8 }, () => new ClientSecrets(join(folder, 'shared')));
  const sealed = await Promise.all(hosts.map((host) => host.seal(secretOf())));
  assert.is(new Set(sealed).size, hosts.length);
  for (const text of sealed) {
    assert.match(text!, /^ek_[\w-]+$/);
    for (const host of hosts) assert.equal(await host.open(text!), secretOf((await host.open(text!))!.expiresAt));
  }
  assert.equal(readdirSync(join(folder, 'shared')), ['client-secrets.key']);
  assert.is(statSync(join(folder, 'shared/client-secrets.key')).mode & 0o777, 0o600);
});

Secrets('show nothing of the key and the session', async () => {
  const text = await new ClientSecrets(join(folder, 'shared')).seal(secretOf());
  const bytes = Buffer.from(text!.slice(3), 'base64url').toString('latin1');
  for (const part of ['key-1', 'ann', 'prompt']) assert.not.ok(bytes.includes(part));
});

Secrets('are unknown when a byte is changed or another host made them', async () => {
  const host = new ClientSecrets(join(folder, 'shared'));
  const text = (await host.seal(secretOf()))!;
  for (let at = 3; at < text.length; at += 7) {
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    assert.is(await host.open(changed), undefined, `${at}`);
  }
  for (const other of [
    '',
    'ek_',
    'ek_AAAA',
    `${text}AAAA`,
    text.slice(0, -4),
    `ek_${'A'.repeat(100_000)}`,
    text.slice(3),
  ])
    assert.is(await host.open(other), undefined);
  assert.is(await new ClientSecrets(join(folder, 'other')).open(text), undefined);
});

Secrets('expire', async () => {
  const host = new ClientSecrets(join(folder, 'shared'));
  const text = (await host.seal(secretOf(inSeconds(0))))!;
  try {
    await host.open(text);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, AccessError);
    assert.is((error as AccessError).name, 'ApiKeyExpired');
  }
});

Secrets('are not made of a session that no header holds', async () => {
  const host = new ClientSecrets(join(folder, 'shared'));
  assert.is(await host.seal({ ...secretOf(), session: 'x'.repeat(8000) }), undefined);
});

Secrets('name a file that is damaged', async () => {
  const dir = join(folder, 'damaged');
  await new ClientSecrets(dir).seal(secretOf());
  truncateSync(join(dir, 'client-secrets.key'), 5);
  const failure = await new ClientSecrets(dir).seal(secretOf()).catch((error: unknown) => String(error));
  assert.match(String(failure), /client-secrets\.key has 5 bytes instead of 32: remove it/);
});

Secrets.run();
