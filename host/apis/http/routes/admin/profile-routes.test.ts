import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaApp } from '../../../../application/app.ts';
import { ask, assertRefused, guardedApp } from '../../fixtures/guarded-app.ts';

const Profiles = suite('the routes of profiles');
let folder = '';
let app: AanaApp;
const keys = { admin: '', user: '' };

Profiles.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-profiles-'));
  app = guardedApp(folder, { api_service: { enabled: true } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  keys.admin = (await app.apiKeys!.create({ user_id: 'root', is_admin: true })).apiKey;
  keys.user = (await app.apiKeys!.create({ user_id: 'ann' })).apiKey;
});
Profiles.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

Profiles('stream a CPU profile to admins only', async () => {
  const url = `${app.url}/api/profiles/cpu?seconds=0.2`;
  assertRefused(await ask(url, { key: keys.user }, 'POST'), 403, 'AdminOnlyAccess');
  const { status, headers, body } = await ask(url, { key: keys.admin }, 'POST');
  assert.is(status, 200, String(body));
  assert.match(headers.get('content-disposition') ?? '', 'host.cpuprofile');
  assert.ok((JSON.parse(body as string) as { nodes: unknown[] }).nodes.length > 1);
  assert.is((await ask(`${app.url}/api/profiles/cpu?seconds=61`, { key: keys.admin }, 'POST')).status, 422);
});

Profiles('keep the memory of the host from admins who may not see contents', async () => {
  const answer = await ask(`${app.url}/api/profiles/heap`, { key: keys.admin }, 'POST');
  assertRefused(answer, 403, 'ContentsHidden');
});

Profiles.run();
