// A Unix socket and HTTPS as a user sees them: flags of a command, the lines that it prints, and its signals.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { CertificateFolder, hasOpenssl } from '../../base/certificates/fixtures/certificates.ts';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { skip } from '../../test/skip.ts';

const Listening = suite('aana-host with a socket and with HTTPS');
const program = join(packageRoot, 'bundle/host/cli/main.js');
const hasCurl = spawnSync('curl', ['--version']).status === 0;
let folder = '';

const HELLO = `
import { AanaApp } from 'aana-host';
import * as z from 'zod';
export const app = new AanaApp({ name: 'greeter' });
app.registerEndpoint({ name: 'hello', path: '/hello',
  input: z.strictObject({ who: z.string().default('you') }), output: z.unknown(),
  run: async ({ who }) => ({ text: 'hello ' + who }) });
`;

Listening.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-listening-'));
  linkDependencies(folder);
  symlinkSync(join(packageRoot, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  writeFileSync(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
  writeFileSync(join(folder, 'hello.js'), HELLO);
});
Listening.after(() => rmSync(folder, { recursive: true, force: true }));

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  AANA_CACHE_DIR: join(folder, 'cache'),
  AANA_DATA_DIR: join(folder, 'data'),
  XDG_RUNTIME_DIR: join(folder, 'run'),
  TASK_QUEUE__ENABLED: 'false',
});

function run(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: environment(),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { code: status, out: stdout, err: stderr };
}

async function deploy(...flags: string[]): Promise<
  {
    output: () => string;
    waitFor: (pattern: RegExp) => Promise<string>;
    kill: (signal: NodeJS.Signals) => void;
    ended: Promise<unknown>;
  } & AsyncDisposable
> {
  const child = spawn(process.execPath, [program, 'deploy', 'hello.js:app', '--skip-migrations', ...flags], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const ended = once(child, 'exit').then(([code]) => code as unknown);
  const waitFor = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(text);
      if (found) return found[1] ?? found[0];
      assert.ok(child.exitCode === null && child.signalCode === null, `it ended: ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  return {
    output: () => text,
    waitFor,
    kill,
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs the printed command line and returns its answer. */
function sh(line: string): string {
  return spawnSync('sh', ['-c', line], { encoding: 'utf8', timeout: 60_000 }).stdout;
}

Listening('serves on a socket, prints how to try it, is found by its commands, and leaves no files', async () => {
  const path = join(folder, 'http.sock');
  await using server = await deploy('--listen', `unix:${path}`, '--socket-mode', '0600');
  const line = await server.waitFor(/Try it:\n {2}(curl .*)\n/);
  assert.match(server.output(), `Listening on unix:${path}\n`);
  assert.is(line, `curl -s --unix-socket ${path} -F 'body={"who":"you"}' http://localhost/hello`);
  assert.is(statSync(path).mode & 0o777, 0o600);
  if (hasCurl) assert.is(sh(line), '{"text":"hello you"}');
  assert.match(run('status').out, `greeter at unix:${path}: RUNNING`);
  assert.match(run('status', '--listen', `unix:${path}`).out, 'RUNNING');
  assert.is(run('status', '--listen', 'unix:/other').code, 2);
  assert.match(
    run('deploy', 'hello.js:app', '--skip-migrations', '--listen', `unix:${path}`).err,
    `another program listens on ${path}`,
  );
  assert.is(run('stop').out, `the application at unix:${path} has stopped\n`);
  assert.is(await server.ended, 0);
  assert.not.ok(existsSync(path));
});

if (hasOpenssl) {
  Listening('serves HTTPS, and reads its certificate again with SIGHUP', async () => {
    using certificates = new CertificateFolder();
    const now = { cert: join(folder, 'now.pem'), key: join(folder, 'now.key') };
    const put = (name: string): void => {
      const made = certificates.make(name);
      copyFileSync(made.cert, now.cert);
      copyFileSync(made.key, now.key);
    };
    put('first');
    await using server = await deploy('--tls-cert', now.cert, '--tls-key', now.key, '--port', '0');
    const line = await server.waitFor(/Try it:\n {2}(curl .*)\n/);
    const port = Number(await server.waitFor(/API documentation: https:\/\/127\.0\.0\.1:(\d+)\/docs/));
    assert.is(line, `curl -s --cacert ${now.cert} -F 'body={"who":"you"}' https://127.0.0.1:${port}/hello`);
    if (hasCurl) {
      assert.is(sh(line), '{"text":"hello you"}');
      assert.match(sh(line.replace('curl -s', 'curl -si')), /strict-transport-security: max-age=31536000/);
    }
    const nameShown = async (): Promise<string> => {
      const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { CN } = socket.getPeerCertificate().subject;
      socket.destroy();
      return String(CN);
    };
    assert.is(await nameShown(), 'first');
    put('second');
    server.kill('SIGHUP');
    await server.waitFor(/certificate read/);
    assert.is(await nameShown(), 'second');
    writeFileSync(now.key, 'broken');
    server.kill('SIGHUP');
    await server.waitFor(/new certificate refused, the old one stays/);
    assert.is(await nameShown(), 'second');
    server.kill('SIGTERM');
    assert.is(await server.ended, 0);
  });

  Listening('does not start with a certificate that cannot be used, nor with half of one', () => {
    const missing = run(
      'deploy',
      'hello.js:app',
      '--skip-migrations',
      '--tls-cert',
      'none.pem',
      '--tls-key',
      'none.key',
      '--port',
      '0',
    );
    assert.is(missing.code, 2);
    assert.is(missing.err, `error: ${join(folder, 'none.pem')} cannot be read: ENOENT\n`);
    const half = run('deploy', 'hello.js:app', '--tls-cert', 'none.pem');
    assert.is(half.code, 2);
    assert.is(half.err, 'error: --tls-cert: "tls": `cert` and `key` must be set together\n');
  });
} else skip('aana-host with HTTPS', 'there is no openssl to make certificates with');

Listening.run();
