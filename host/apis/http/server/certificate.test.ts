import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, type Logger, silentLogger } from '../../../base/core/log/logger.ts';
import { skip } from '../../../test/skip.ts';
import { CertificateFolder, hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { Certificate, type CertificateFiles } from '../../../base/certificates/index.ts';
import { eventually } from '../fixtures/eventually.ts';
import { HttpServer } from './http-server.ts';

const Tls = suite('Certificate and HTTPS');
const LIMITS = { header_timeout_s: 1, request_timeout_s: 20, keep_alive_timeout_s: 20 };
/** How often the tests have files looked at, in milliseconds. */
const LOOK_MS = 20;

if (!hasOpenssl) skip('Certificate and HTTPS', 'there is no openssl to make certificates with');

function kept(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: createLogger({ level: 'info', format: 'text', write: (line) => void lines.push(line) }), lines };
}

const filesOf = (folder: CertificateFolder, name: string): CertificateFiles => ({
  cert: folder.file(`${name}.pem`),
  key: folder.file(`${name}.key`),
  minVersion: 'TLSv1.2',
  lookMs: LOOK_MS,
});

/** An HTTPS server that answers the path, and holds `/hold` until it is let go. */
async function serve(
  files: CertificateFiles,
  log: Logger = silentLogger,
): Promise<{ server: HttpServer; port: number; release: () => void; held: () => number } & AsyncDisposable> {
  const held: (() => void)[] = [];
  const answer = (url: string | undefined, end: (body: string) => unknown): void => {
    if (url === '/hold') held.push(() => end('held'));
    else end(`at ${url}`);
  };
  const server = await HttpServer.open((req, res) => answer(req.url, (body) => res.end(body)), LIMITS, { files, log });
  const { port } = await server.listen('127.0.0.1', 0);
  return {
    server,
    port,
    held: () => held.length,
    release: () => held.splice(0).forEach((end) => end()),
    [Symbol.asyncDispose]: () => server.close(0),
  };
}

async function get(port: number, path: string, options: RequestOptions): Promise<string> {
  const req = request({ host: '127.0.0.1', port, path, agent: false, ...options }).end();
  const [response] = (await once(req, 'response')) as [NodeJS.ReadableStream];
  return text(response);
}

/** The name in the certificate that a new connection is shown. */
async function nameShown(port: number): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN as string;
  socket.destroy();
  return name;
}

async function answerTo(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(bytes);
  return text(socket).catch(() => '');
}

if (hasOpenssl) {
  Tls('is served, and shown to clients that trust it', async () => {
    using folder = new CertificateFolder();
    const { cert } = folder.make('first');
    await using at = await serve(filesOf(folder, 'first'));
    assert.is(await get(at.port, '/x', { ca: folder.read('first.pem') }), 'at /x');
    assert.is(
      await get(at.port, '/x', {}).catch((error: NodeJS.ErrnoException) => error.code),
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    );
    assert.ok(cert.endsWith('first.pem'));
  });

  Tls('is read again when its files have changed, while open connections continue', async () => {
    using folder = new CertificateFolder();
    folder.make('first');
    folder.make('second');
    const { log, lines } = kept();
    for (const kind of ['pem', 'key']) copyFileSync(folder.file(`first.${kind}`), folder.file(`now.${kind}`));
    await using at = await serve(filesOf(folder, 'now'), log);
    const running = get(at.port, '/hold', { rejectUnauthorized: false });
    await eventually(() => at.held() === 1, 'the request arrives');
    assert.is(await nameShown(at.port), 'first');
    for (const kind of ['pem', 'key']) renameSync(folder.file(`second.${kind}`), folder.file(`now.${kind}`));
    await eventually(() => lines.some((line) => line.includes('certificate read')), 'the new one is read');
    assert.is(await nameShown(at.port), 'second');
    at.release();
    assert.is(await running, 'held');
  });

  Tls('stays in use if the new one cannot be used, with one log line that has the reason', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    folder.make('other');
    const { log, lines } = kept();
    await using at = await serve(filesOf(folder, 'now'), log);
    const broken: readonly [file: string, content: Buffer | string, reason: RegExp][] = [
      ['now.key', folder.read('other.key'), /now\.key is not the key of the certificate .*now\.pem/],
      ['now.pem', 'nothing', /now\.pem is not a certificate in PEM/],
      ['now.key', 'nothing', /now\.key is not a private key in PEM|now\.pem is not a certificate/],
    ];
    for (const [file, content, reason] of broken) {
      lines.length = 0;
      writeFileSync(folder.file(file), content);
      await eventually(() => lines.length > 0, 'it is told');
      await new Promise((resolve) => setTimeout(resolve, 5 * LOOK_MS));
      assert.is(lines.length, 1);
      assert.match(lines[0] ?? '', /new certificate refused, the old one stays/);
      assert.match(lines[0] ?? '', reason);
      assert.is(await nameShown(at.port), 'now');
    }
    folder.make('now');
    await eventually(() => lines.some((line) => line.includes('certificate read')), 'a good one is read');
  });

  Tls('is read at once on request', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    const { log, lines } = kept();
    const certificate = await Certificate.open({ ...filesOf(folder, 'now'), lookMs: 3_600_000 }, log);
    let changes = 0;
    certificate.watch(() => (changes += 1));
    await certificate.reload();
    assert.is(changes, 1);
    assert.match(lines.join(''), /certificate read.*now\.pem/);
    certificate.close();
  });

  Tls('that cannot be used is refused at the start, and the error names the file', async () => {
    using folder = new CertificateFolder();
    folder.make('good');
    folder.make('other');
    writeFileSync(folder.file('broken'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    execFileSync(
      'openssl',
      ['ec', '-in', folder.file('good.key'), '-out', folder.file('locked'), '-aes128', '-passout', 'pass:x'],
      { stdio: 'ignore' },
    );
    const cert = folder.file('good.pem');
    const key = folder.file('good.key');
    const cases: readonly [Partial<CertificateFiles>, RegExp][] = [
      [{ cert: folder.file('none') }, /none cannot be read: ENOENT$/],
      [{ cert: folder.path }, /cannot be read: EISDIR$/],
      [{ cert: folder.file('broken') }, /broken is not a certificate in PEM: /],
      [{ cert: key }, /good\.key is not a certificate in PEM: /],
      [{ key: cert }, /good\.pem is not a private key in PEM without a passphrase: /],
      [{ key: folder.file('locked') }, /locked is not a private key in PEM without a passphrase: /],
      [{ key: folder.file('other.key') }, /other\.key is not the key of the certificate .*good\.pem: /],
      [{ clientCa: folder.file('broken') }, /broken has no certificates in PEM: /],
    ];
    for (const [files, reason] of cases) {
      const error = await Certificate.open({ cert, key, minVersion: 'TLSv1.2', ...files }, silentLogger).catch(
        (thrown: unknown) => thrown as Error,
      );
      assert.is((error as Error).name, 'TlsError');
      assert.match((error as Error).message, reason);
      assert.not.match((error as Error).message, '\n');
    }
  });

  Tls('answers plain HTTP with a reason, and ends connections without a known protocol', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    await using at = await serve(filesOf(folder, 'now'));
    const answer = await answerTo(
      at.port,
      `POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, '"error":"HttpsExpected"');
    assert.is(
      await answerTo(at.port, Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5])).then((got) => got.includes('HTTP')),
      false,
    );
    assert.is(await get(at.port, '/x', { rejectUnauthorized: false }), 'at /x');
  });

  Tls('refuses clients without a certificate of the authority for clients', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    const authority = folder.make('authority');
    folder.make('client', authority);
    folder.make('stranger');
    await using at = await serve({ ...filesOf(folder, 'now'), clientCa: authority.cert });
    const as = (name: string): RequestOptions => ({
      rejectUnauthorized: false,
      cert: folder.read(`${name}.pem`),
      key: folder.read(`${name}.key`),
    });
    assert.is(await get(at.port, '/x', as('client')), 'at /x');
    for (const options of [{ rejectUnauthorized: false }, as('stranger')])
      assert.instance(await get(at.port, '/x', options).catch((error: unknown) => error), Error);
  });

  Tls('speaks no older version of TLS than configured', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    await using at = await serve({ ...filesOf(folder, 'now'), minVersion: 'TLSv1.3' });
    assert.is(await get(at.port, '/x', { rejectUnauthorized: false, minVersion: 'TLSv1.3' }), 'at /x');
    assert.instance(
      await get(at.port, '/x', { rejectUnauthorized: false, maxVersion: 'TLSv1.2' }).catch((error: unknown) => error),
      Error,
    );
  });

  Tls('does not keep a closing server open for silent connections, and lets running requests finish', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    await using at = await serve(filesOf(folder, 'now'));
    const silent = connect(at.port, '127.0.0.1');
    await once(silent, 'connect');
    const idle = connectTls({ host: '127.0.0.1', port: at.port, rejectUnauthorized: false });
    await once(idle, 'secureConnect');
    const agent = new Agent({ keepAlive: true });
    const used = request({ host: '127.0.0.1', port: at.port, path: '/x', agent, rejectUnauthorized: false }).end();
    const [answered] = (await once(used, 'response')) as [NodeJS.ReadableStream];
    assert.is(await text(answered), 'at /x');
    const ends = [silent, idle, used.socket as Socket].map((socket: Socket | TLSSocket) => {
      socket.on('error', () => {}).resume();
      return once(socket, 'close');
    });
    const running = get(at.port, '/hold', { rejectUnauthorized: false });
    await eventually(() => at.held() === 1, 'the request arrives');
    const closed = at.server.close(60_000);
    await Promise.all(ends);
    at.release();
    assert.is(await running, 'held');
    await closed;
  });

  Tls('cuts off connections that send nothing in the time for a head', async () => {
    using folder = new CertificateFolder();
    folder.make('now');
    await using at = await serve(filesOf(folder, 'now'));
    assert.is(await answerTo(at.port, ''), '');
    const half = connect(at.port, '127.0.0.1');
    half.on('error', () => {}).resume();
    half.write(Buffer.from([0x16, 3, 1]));
    await once(half, 'close');
  });
}

Tls.run();
