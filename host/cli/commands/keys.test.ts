// The commands in their own processes, beside a server with the same database.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaApp } from '../../application/app.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { ask, guardedApp } from '../../apis/http/fixtures/guarded-app.ts';
import { command, type CommandResult } from '../../test/helpers/command-line/command.ts';
import { parseExpiry } from '../duration.ts';

const Keys = suite('aana-host keys');
let folder = '';
let app: AanaApp;
let url = '';

Keys.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-keys-'));
  app = guardedApp(folder, { api_service: { enabled: true } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
});
Keys.after(async () => {
  await app.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const options = (): { cwd: string; env: NodeJS.ProcessEnv } => ({
  cwd: folder,
  env: {
    HOME: folder,
    PATH: process.env['PATH'],
    TMPDIR: folder,
    AANA_CACHE_DIR: process.env['AANA_CACHE_DIR'],
    API_SERVICE__ENABLED: 'true',
  },
});
const inData = (args: readonly string[]): string[] => ['keys', ...args, '--data-dir', join(folder, 'data')];
const run = (args: readonly string[]): Promise<CommandResult> => command(inData(args), options());

/** Runs a command in a process of its own. `spawnSync` would block the server in this process. */
async function runProgram(args: readonly string[], input: string): Promise<CommandResult> {
  const program = join(packageRoot, 'bundle/host/cli/main.js');
  const child = spawn(process.execPath, [program, ...inData(args)], { ...options(), timeout: 60_000 });
  child.stdin.end(input);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, out, err };
}

Keys('create the first key of an admin, show it once, and a running server accepts it at once', async () => {
  const made = await run(['create', '--user', 'root', '--id', 'first', '--admin']);
  assert.is(made.code, 0, made.err);
  assert.match(made.out, /^aana_\w{38}\n$/, 'nothing but the key, for scripts');
  assert.match(made.err, /^first {2}user root, admin, never used\nthis is the only time that the key is shown:\n$/);
  const answer = await ask(`${url}/api/keys`, { key: made.out.trim() });
  assert.equal(
    answer.body.keys.map((key: { key_id: string }) => key.key_id),
    ['first'],
  );
  const listed = await run(['list', '--json']);
  assert.not.ok(listed.out.includes(made.out.trim()));
  assert.equal(
    JSON.parse(listed.out).map((key: { is_admin: boolean }) => key.is_admin),
    [true],
  );
});

Keys('are changed and revoked by their names', async () => {
  const { api_key: key, ...info } = JSON.parse(
    (
      await run([
        'create',
        '--user',
        'ann',
        '--id',
        'ann-1',
        '--scope',
        'endpoints',
        '/video/*',
        '--expires',
        '90d',
        '--json',
      ])
    ).out,
  );
  assert.equal([info.user_id, info.scopes, info.is_admin], ['ann', ['endpoints', '/video/*'], false]);
  assert.is((await ask(`${url}/echo`, { key, body: {} })).status, 200);
  assert.match(
    (await run(['update', 'ann-1', '--scope', 'tasks', '--expires', 'never'])).out,
    /^ann-1 {2}user ann, for tasks, /,
  );
  assert.is((await run(['subscription', 'ann', 'off'])).out, 'subscription ann is inactive: 1 key\n');
  assert.match(
    (await run(['list', '--user', 'ann'])).out,
    /^ann-1 {2}user ann, subscription ann \(inactive\), for tasks, (never|last) used.*\n$/,
  );
  assert.is((await run(['revoke', 'ann-1'])).code, 0);
  assert.equal((await run(['list', '--user', 'ann'])).out, 'ann has no API keys\n');
});

Keys('accept a key that was made elsewhere', async () => {
  const made = await runProgram(['create', '--user', 'old', '--stdin'], 'a-key-of-the-gateway\n');
  assert.equal([made.code, made.out], [0, '']);
  assert.is((await ask(`${url}/echo`, { key: 'a-key-of-the-gateway', body: {} })).status, 200);
});

const WRONG: [title: string, args: string[], message: RegExp][] = [
  ['a key of nobody', ['create'], /required option '--user <id>' not specified/],
  [
    'a scope that there is not',
    ['create', '--user', 'a', '--scope', 'all'],
    /^error: scopes\.0: .*Input should be endpoints, tasks, webhooks, admin, a path/,
  ],
  ['a name that is taken', ['create', '--user', 'a', '--id', 'first'], /^error: there is already an API key "first"/],
  ['a key that there is not', ['revoke', 'none'], /^error: there is no api_key "none"\n$/],
];
for (const [title, args, message] of WRONG) {
  Keys(`refuse ${title} in one sentence, with exit code 2`, async () => {
    const { code, err, out } = await run(args);
    assert.equal([code, out], [2, '']);
    assert.match(err, message);
    assert.not.match(err, /\n\s+at /);
  });
}

Keys('parse times', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const cases: Record<string, string | null> = {
    never: null,
    '30m': '2026-01-01T00:30:00.000Z',
    '36h': '2026-01-02T12:00:00.000Z',
    '90d': '2026-04-01T00:00:00.000Z',
    '1y': '2027-01-01T00:00:00.000Z',
    '2027-01-31': '2027-01-31T00:00:00.000Z',
    '2027-01-31T12:00+02:00': '2027-01-31T10:00:00.000Z',
  };
  for (const [given, time] of Object.entries(cases)) assert.is(parseExpiry(given, now), time, given);
  for (const given of ['', '90', 'd', '-1d', '2027-13-01', '2027-02-30', '2027-01-31T12:00', '99999y', 'tomorrow'])
    assert.throws(() => parseExpiry(given, now), /is not a valid time/, given);
});

Keys.run();
