// Files of URLs over a real server that speaks validators and counts what it is asked.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Limiter } from '../../../base/core/async/limiter.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { noTelemetry } from '../../../base/core/telemetry.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { smallDisk } from '../../../test/helpers/small-disk.ts';
import { skip } from '../../../test/skip.ts';
import { Random } from '../../../test/simulation/random.ts';
import { MediaTelemetry } from '../media-telemetry.ts';
import { etagOf, type Origin, OriginServer } from './fixtures/origin-server.ts';
import { MediaCache, type MediaCacheOptions } from './media-cache.ts';
import { UrlFiles, type UrlOpening } from './url-files.ts';

const Urls = suite('files of URLs');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const server = await OriginServer.start();
const MIB = 1024 ** 2;
const KEPT = { etag: true, headers: { 'cache-control': 'max-age=3600' } } as const;

/** A host: its cache, whose clock goes on by itself, and its files. */
class Host {
  readonly cache: MediaCache;
  readonly files: UrlFiles;
  now: number;

  constructor(of: Partial<MediaCacheOptions> & { readonly start?: number } = {}) {
    hosts.push(this);
    this.now = of.start ?? Date.now();
    this.cache = new MediaCache({
      ...{ folder: join(folder, 'cache'), maxBytes: 10 * MIB, maxUserBytes: 5 * MIB, unusedMs: 1e9 },
      ...{ log: silentLogger, now: () => ++this.now, ...of },
    });
    this.files = new UrlFiles({
      media: {
        ...{ ffmpegPath: '', allowPaths: [], allowPrivateUrls: true, maxBytes: MIB, maxDurationS: 60 },
        ...{ fetchTimeoutMs: 20_000, maxRedirects: 2, tempDir: folder, log: silentLogger },
      },
      pages: new Limiter(1),
      telemetry: new MediaTelemetry(noTelemetry),
      cache: this.cache,
      newPath: async () => join(folder, `temporary-${++temporary}`),
    });
  }

  open(path: string, of: Partial<UrlOpening> = {}): ReturnType<UrlFiles['open']> {
    const opening = { tenant: 'user ann', maxBytes: MIB, canBePage: true, extension: '.mp4' };
    return this.files.open(path.startsWith('http') ? path : server.url(path), {
      ...opening,
      signal: new AbortController().signal,
      ...of,
    });
  }

  /** Opens a file, reads it and closes it. */
  async read(path: string, of: Partial<UrlOpening> = {}): Promise<string> {
    await using file = await this.open(path, of);
    return readFileSync(file.result.media.path, 'utf8');
  }

  async nameOf(path: string, of: Partial<UrlOpening> = {}): Promise<string> {
    return (await errorOf(this.open(path, of))).name;
  }
}

let temporary = 0;
let host: Host;
/** All hosts of a test. */
const hosts: Host[] = [];
/** Names of temporary files that tests have left. */
const leaks: string[] = [];
const LEAK = /temporary-|aana-host/;

/** Returns the requests that `work` makes, and how many of them transfer a file. */
async function counting(work: () => Promise<unknown>): Promise<[requests: number, transfers: number]> {
  server.reset();
  await work();
  return [server.requests.length, server.transfers];
}

const inCache = (...names: string[]): string[] => {
  const path = join(folder, 'cache', ...names);
  return existsSync(path) ? readdirSync(path).sort() : [];
};
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

Urls.before.each(() => {
  server.origins.clear();
  host = new Host();
});
Urls.after.each(async () => {
  for (const one of hosts.splice(0)) await one.cache.close();
  // Not checked here, because a hook that throws ends the suite.
  leaks.push(...readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => LEAK.test(name)));
  rmSync(join(folder, 'cache'), { recursive: true, force: true });
});
Urls.after(() => {
  server.stop();
  rmSync(folder, { recursive: true });
});

Urls('a fresh file needs no request, a stale one a question, and a changed one is fetched', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [1, 1]);
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [0, 0]);
  host.now += 3_600_000;
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [1, 0]);
  assert.equal(await counting(() => host.read('/a')), [0, 0], 'the answer 304 makes it fresh');
  host.now += 3_600_000;
  server.origins.set('/a', { body: 'two', ...KEPT });
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'two')), [1, 1]);
  assert.equal(inCache('files'), [digest('two')]);
});

const disk = smallDisk(256);
Urls.after(() => disk?.[Symbol.dispose]());
if (!disk) skip('files of URLs with a full disk', 'no file system can be mounted');
else
  Urls('a file for which the disk of the cache has no room lies with the temporary files', async () => {
    const small = new Host({ folder: join(disk.folder, 'cache') });
    const [fits, large] = ['a'.repeat(50_000), 'b'.repeat(500_000)];
    server.origins.set('/fits', { body: fits, ...KEPT });
    server.origins.set('/large', { body: large, ...KEPT });
    assert.is(await small.read('/fits'), fits);
    for (const _ of [1, 2]) assert.is(await small.read('/large'), large);
    assert.is(await small.read('/fits'), fits);
  });

Urls('a length that no disk has room for removes nothing of what is kept', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  await host.read('/a');
  server.origins.set('/huge', {
    body: '',
    answer: (_, { socket }) => void socket!.end(`HTTP/1.1 200 OK\r\ncontent-length: ${10 ** 14}\r\n\r\none`),
  });
  assert.is(await host.nameOf('/huge', { maxBytes: 1e15 }), 'DownloadException');
  assert.equal(inCache('files'), [digest('one')]);
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [0, 0]);
});

Urls('what a server does not allow to keep is fetched each time, and so is what it says nothing about', async () => {
  const origins: readonly Partial<Origin>[] = [
    ...[{}, { etag: true, headers: { 'cache-control': 'no-store' } }, { etag: true, headers: { vary: '*' } }],
    { headers: { 'cache-control': 'no-cache' } },
    { answer: (_, response) => void response.writeHead(203, { etag: '"a"', 'content-length': 3 }).end('one') },
    { answer: (_, { socket }) => void socket!.end('HTTP/1.1 200 OK\r\netag: "a"\r\nconnection: close\r\n\r\none') },
  ];
  for (const [n, origin] of origins.entries()) {
    server.origins.set(`/${n}`, { body: 'one', ...origin });
    for (const _ of [1, 2])
      assert.is((await counting(async () => assert.is(await host.read(`/${n}`), 'one')))[0], 1, String(n));
  }
  assert.equal(inCache('files'), []);
});

Urls('an answer that takes the place of a kept one and may not be kept removes it', async () => {
  server.origins.set('/a', { body: 'one', etag: true });
  await host.read('/a');
  assert.equal(inCache('files'), [digest('one')]);
  server.origins.set('/a', { body: 'two', headers: { 'cache-control': 'no-store' } });
  assert.is(await host.read('/a'), 'two');
  assert.equal(inCache('files'), []);
});

Urls('users share no answers, and the bytes only after both have fetched them', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  assert.equal(await counting(() => host.read('/a')), [1, 1]);
  assert.equal(await counting(() => host.read('/a', { tenant: 'user bob' })), [1, 1]);
  assert.equal(await counting(() => host.read('/a', { tenant: 'address 10.0.0.1' })), [1, 1]);
  assert.equal(
    server.requests.map(({ headers }) => headers['if-none-match']),
    [undefined],
  );
  assert.equal(inCache('files'), [digest('one')]);
  assert.is(inCache('entries').length, 3);
});

Urls('what is fetched for nobody who is known is neither kept nor shared', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  const tenant = '';
  const both = (): Promise<unknown> => Promise.all([host.read('/a', { tenant }), host.read('/a', { tenant })]);
  for (const _ of [1, 2]) assert.equal(await counting(both), [2, 2]);
  assert.equal(inCache('files'), []);
});

Urls('a file that needed a password is not given for another password, nor for none', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  const url = (credentials: string): string => server.url('/a').replace('//', `//${credentials}`);
  assert.equal(await counting(() => host.read(url('ann:secret@'))), [1, 1]);
  assert.equal(await counting(() => host.read(url('ann:secret@'))), [0, 0]);
  for (const other of ['ann:guess@', 'ann@', ''])
    assert.equal(await counting(() => host.read(url(other))), [1, 1], other);
  const stored = inCache('entries').flatMap((user) =>
    inCache('entries', user).map((name) => readFileSync(join(folder, 'cache', 'entries', user, name), 'utf8')),
  );
  for (const text of stored) assert.not.match(text, /secret|127\.0\.0\.1/);
});

Urls('after a redirect the file of its target is used, and its validators go only to the target', async () => {
  server.origins.set('/a', {
    body: '',
    answer: (_, response) => void response.writeHead(302, { location: '/b' }).end(),
  });
  server.origins.set('/b', { body: 'one', etag: true });
  assert.equal(await counting(() => host.read('/a')), [2, 1]);
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [2, 0]);
  assert.equal(
    server.requests.map(({ headers }) => headers['if-none-match']),
    [undefined, etagOf('one')],
  );
  assert.equal(await counting(() => host.read('/b')), [1, 0]);
});

Urls('a URL that begins to redirect is followed, although its file was kept', async () => {
  server.origins.set('/a', { body: 'one', etag: true });
  server.origins.set('/b', { body: 'two', etag: true });
  await host.read('/a');
  server.origins.set('/a', {
    body: '',
    answer: (_, response) => void response.writeHead(302, { location: '/b' }).end(),
  });
  assert.is(await host.read('/a'), 'two');
  assert.is(await host.read('/a'), 'two');
});

Urls('the rules of the caller hold for kept files, at each redirect', async () => {
  server.origins.set('/a', {
    body: '',
    answer: (_, response) => void response.writeHead(302, { location: '/b' }).end(),
  });
  server.origins.set('/b', { body: 'one', ...KEPT });
  await host.read('/a');
  const refusalOf = ({ pathname }: URL): string | undefined => (pathname === '/b' ? 'no grant' : undefined);
  for (const path of ['/a', '/b']) assert.is(await host.nameOf(path, { refusalOf }), 'HostDenied', path);
  assert.is(await host.nameOf('/b', { maxBytes: 2 }), 'MediaTooLargeException');
  host.now += 3_600_000;
  assert.is(await host.nameOf('/b', { maxBytes: 2 }), 'MediaTooLargeException');
});

Urls('an answer 304 that names another version, or that nobody asked for, gives no kept file', async () => {
  server.origins.set('/a', { body: 'one', etag: true });
  await host.read('/a');
  server.origins.set('/a', {
    body: '',
    answer: ({ headers }, response) =>
      void (headers['if-none-match'] === undefined
        ? response.writeHead(200, { 'content-length': 3 }).end('two')
        : response.writeHead(304, { etag: '"other"' }).end()),
  });
  assert.is(await host.read('/a'), 'two');
  server.origins.set('/new', { body: '', answer: (_, response) => void response.writeHead(304).end() });
  assert.match((await errorOf(host.open('/new'))).message, 'status 304');
});

Urls('a cut answer, an error and a page leave what was kept, and are not kept', async () => {
  const answers: readonly NonNullable<Origin['answer']>[] = [
    (_, response) => {
      response.writeHead(200, { etag: '"cut"', 'content-length': 100 }).write('cut');
      setImmediate(() => response.destroy());
    },
    (_, response) => void response.writeHead(500).end(),
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html', etag: '"page"' }).end('<p>'),
    (_, response) => void response.writeHead(200, { 'content-length': 2 * MIB }).end(),
  ];
  for (const [n, answer] of answers.entries()) {
    server.origins.set('/a', { body: 'one', etag: true });
    await host.read('/a');
    server.origins.set('/a', { body: '', answer });
    const expected = n === 3 ? 'MediaTooLargeException' : 'DownloadException';
    assert.is(await host.nameOf('/a'), expected, String(n));
    server.origins.set('/a', { body: 'one', etag: true });
    assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [1, 0], String(n));
  }
});

Urls('requests of a user for one URL fetch it once, and leave each other alone', async () => {
  server.origins.set('/a', { body: 'one' });
  server.reset();
  const gate = server.close();
  const [first, other] = [new AbortController(), new AbortController()];
  const opened = [
    host.open('/a', { signal: first.signal }),
    host.open('/a', { signal: other.signal }),
    host.open('/a'),
  ];
  const bob = host.open('/a', { tenant: 'user bob' });
  await gate.arrived;
  const reason = new Error('the first client left');
  first.abort(reason);
  assert.is(await opened[0]!.catch((error: unknown) => error), reason);
  gate.open();
  const files = await Promise.all([...opened.slice(1), bob]);
  assert.is(server.requests.length, 2, 'one request for each user');
  const [one, two, three] = files.map(({ result }) => result.media.path);
  assert.is(one, two);
  assert.is.not(one, three);
  await files[0]![Symbol.asyncDispose]();
  await files[0]![Symbol.asyncDispose]();
  assert.is(readFileSync(two!, 'utf8'), 'one', 'the file is there while somebody has it');
  await Promise.all(files.map((file) => file[Symbol.asyncDispose]()));
  assert.not.ok(existsSync(two!));
});

Urls('when all have left, the download ends, and the next request begins another one', async () => {
  server.origins.set('/a', { body: 'one' });
  server.reset();
  const gate = server.close();
  const leaving = new AbortController();
  const opened = [1, 2].map(() => host.open('/a', { signal: leaving.signal }));
  await gate.arrived;
  const closed = new Promise((resolve) => server.requests[0]!.once('close', resolve));
  const reason = new Error('left');
  leaving.abort(reason);
  for (const one of opened) assert.is(await one.catch((error: unknown) => error), reason);
  await closed;
  gate.open();
  assert.is(await host.read('/a'), 'one');
  assert.is(server.requests.length, 2);
});

Urls('a failure is told to all who wait, and the next request tries again', async () => {
  const gate = server.close();
  server.reset();
  const opened = [1, 2].map(() => errorOf(host.open('/missing')));
  await gate.arrived;
  gate.open();
  for (const error of await Promise.all(opened)) assert.match(error.message, 'status 404');
  assert.is(server.requests.length, 1);
  server.origins.set('/missing', { body: 'there' });
  assert.is(await host.read('/missing'), 'there');
});

Urls('requests under other rules have a download of their own', async () => {
  server.origins.set('/a', { body: 'one' });
  server.reset();
  const gate = server.close();
  const refusalOf = (): string | undefined => undefined;
  const refused = host.nameOf('/a', { refusalOf: () => 'no grant' });
  const opened = [{}, { refusalOf }, { refusalOf }, { maxBytes: 100 }].map((rules) => host.read('/a', rules));
  assert.is(await refused, 'HostDenied');
  await gate.arrived;
  gate.open();
  assert.equal(await Promise.all(opened), ['one', 'one', 'one', 'one']);
  assert.is(server.requests.length, 3);
});

Urls('hosts that share a folder use the files of each other, and take none from a reader', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  const other = new Host({ maxBytes: 70_000 });
  await other.cache.clean();
  await host.read('/a');
  await using file = await other.open('/a');
  assert.equal(await counting(() => other.read('/a')), [0, 0]);
  server.origins.set('/b', { body: 'x'.repeat(70_000), ...KEPT });
  await other.cache.clean(); // learns of the first file
  await other.read('/b');
  assert.equal(inCache('files'), [digest('x'.repeat(70_000))]);
  assert.is(readFileSync(file.result.media.path, 'utf8'), 'one');
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [1, 1]);
});

Urls('what is damaged is dropped: at the start, or when it is met', async () => {
  const entry = (): string =>
    join(folder, 'cache', 'entries', digest('user ann'), inCache('entries', digest('user ann'))[0]!);
  const file = join(folder, 'cache', 'files', digest('one'));
  const damages: Readonly<Record<string, () => void>> = {
    'an entry without a file': () => rmSync(file),
    'a file that was cut': () => writeFileSync(file, 'on'),
    'a file with other bytes': () => writeFileSync(file, 'two'),
    'an empty entry': () => writeFileSync(entry(), ''),
    'an entry with other members': () => writeFileSync(entry(), '{"sha256":"../../x","bytes":3}'),
  };
  for (const cleans of [false, true])
    for (const [name, damage] of Object.entries(damages)) {
      server.origins.set('/a', { body: 'one', ...KEPT });
      await host.read('/a');
      await host.cache.close();
      damage();
      host = new Host();
      if (cleans) await host.cache.clean();
      assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one', name)), [1, 1], name);
      assert.equal(await counting(() => host.read('/a')), [0, 0], `${name}: it was not kept again`);
    }
});

Urls('what nobody used for long goes, and so does what no entry names', async () => {
  for (const path of ['/a', '/b']) server.origins.set(path, { body: path, ...KEPT });
  for (const path of ['/a', '/b']) await host.read(path);
  writeFileSync(join(folder, 'cache', 'files', digest('x')), 'x');
  await host.cache.clean();
  assert.is(inCache('files').length, 3, 'another host may be about to name it');
  host.now += 9e8;
  await host.read('/b'); // asks the server, because an hour has passed
  host.now += 5e8;
  await host.cache.clean();
  assert.equal(inCache('files'), [digest('/b')]);
});

Urls('a cache whose database has moved goes, and those that hosts use stay', async () => {
  const [own, ...others] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];
  const all = [own, ...others].map((name) => new Host({ folder: join(folder, 'caches', name), unusedMs: 1000 }));
  server.origins.set('/a', { body: 'one', ...KEPT });
  for (const one of all) await one.read('/a');
  for (const one of all) await one.cache.close();
  for (const one of all.slice(0, 2)) {
    one.now += 80_000_000;
    await one.cache.clean();
  }
  all[0]!.now += 10_000_000;
  await all[0]!.cache.clean();
  assert.equal(readdirSync(join(folder, 'caches')).sort(), [own, others[0]]);
  rmSync(join(folder, 'caches'), { recursive: true });
});

Urls('without a folder that can be written, files are fetched and not kept', async () => {
  writeFileSync(join(folder, 'file'), '');
  const other = new Host({ folder: join(folder, 'file', 'cache') });
  server.origins.set('/a', { body: 'one', ...KEPT });
  await other.cache.clean();
  for (const _ of [1, 2]) assert.equal(await counting(async () => assert.is(await other.read('/a'), 'one')), [1, 1]);
});

Urls('a cache that somebody removes while its host runs begins again', async () => {
  server.origins.set('/a', { body: 'one', ...KEPT });
  await host.read('/a');
  rmSync(join(folder, 'cache'), { recursive: true });
  assert.equal(await counting(async () => assert.is(await host.read('/a'), 'one')), [1, 1]);
  assert.equal(await counting(() => host.read('/a')), [0, 0]);
});

Urls('a file that does not fit is given to its reader and not kept', async () => {
  const other = new Host({ maxUserBytes: 100_000 });
  server.origins.set('/a', { body: 'x'.repeat(100_001), ...KEPT });
  for (const _ of [1, 2]) assert.equal(await counting(() => other.read('/a')), [1, 1]);
  assert.equal(inCache('files'), []);
});

if (process.platform !== 'win32')
  Urls('files are kept and removed while the cache reads what it has, and count', async () => {
    const sizes: number[] = [];
    const one = new Host({ onSize: (bytes) => void sizes.push(bytes) });
    for (const path of ['/a', '/b', '/c']) server.origins.set(path, { body: path, ...KEPT });
    for (const path of ['/a', '/b']) await one.read(path);
    // The reading of an entry that is a pipe waits.
    const pipe = join(folder, 'cache', 'entries', digest('user ann'), digest('pipe'));
    execFileSync('mkfifo', [pipe]);
    const end = openSync(pipe, 'r+');
    const ends: string[] = [];
    const release = (): void => {
      ends.push('released');
      writeSync(end, JSON.stringify({ sha256: digest('/a'), bytes: 2, fields: {}, requestedAt: 0, receivedAt: 0 }));
      closeSync(end);
    };
    const cleaning = one.cache.clean();
    const late = setTimeout(release, 10_000); // otherwise a failure would hang
    await one.read('/c').then(() => ends.push('/c is kept'));
    server.origins.set('/b', { body: '/b', headers: { 'cache-control': 'no-store' } });
    one.now += 3_600_000;
    await one.read('/b').then(() => ends.push('/b is gone'));
    if (!ends.includes('released')) release();
    clearTimeout(late);
    await cleaning;
    assert.equal(ends, ['/c is kept', '/b is gone', 'released']);
    assert.is(sizes.at(-1), 2 * 65_536);
    assert.equal(inCache('files'), [digest('/a'), digest('/c')].sort());
  });

const USERS = ['user ann', 'user bob', 'address 10.0.0.1'] as const;
const PATHS = ['/1', '/2', '/3', '/4', '/5'] as const;
const POLICIES: readonly [Partial<Origin>, ...Partial<Origin>[]] = [
  ...([KEPT, { etag: true }, { headers: {} }] as const),
  ...[{ headers: { 'cache-control': 'max-age=3600' } }, { etag: true, headers: { 'cache-control': 'no-store' } }],
  ...[{ etag: true, headers: { 'cache-control': 'max-age=3600, no-cache' } }],
  ...[{ modified: 1_700_000_000, headers: { 'cache-control': 'private' } }],
];

/** What a user has by a URL, in the order of use. */
interface ModelEntry {
  readonly user: string;
  readonly path: string;
  readonly body: string;
  readonly origin: Partial<Origin>;
}

/** What the cache must hold and ask, told in the simplest way. */
class Model {
  entries: ModelEntry[] = [];
  /** Bodies whose file has other bytes, and those whose file was removed when that was noticed. */
  readonly damaged = new Set<string>();
  readonly missing = new Set<string>();
  readonly #limits: Pick<MediaCacheOptions, 'maxBytes' | 'maxUserBytes'>;

  constructor(limits: Pick<MediaCacheOptions, 'maxBytes' | 'maxUserBytes'>) {
    this.#limits = limits;
  }

  /** Returns the body that a fetch gives, with its requests and transfers. */
  fetch(user: string, path: string, now: Origin): { body: string; counts: [requests: number, transfers: number] } {
    let kept = this.entries.find((one) => one.user === user && one.path === path);
    if (kept) this.#remove(kept);
    if (kept && this.damaged.delete(kept.body)) this.missing.add(kept.body);
    if (kept && this.missing.has(kept.body)) kept = undefined;
    const control = kept?.origin.headers?.['cache-control'] ?? '';
    if (kept && /max-age/.test(control) && !/no-cache/.test(control)) {
      this.entries.push(kept);
      return { body: kept.body, counts: [0, 0] };
    }
    const rule = now.headers?.['cache-control'] ?? '';
    const hasSame = (name: 'etag' | 'modified'): boolean => now[name] !== undefined && kept?.origin[name] === now[name];
    if (kept?.body === now.body && (hasSame('etag') || hasSame('modified'))) {
      const headers = { ...kept.origin.headers, ...now.headers };
      if (!rule.includes('no-store')) this.#keep({ ...kept, origin: { ...kept.origin, ...now, headers } });
      return { body: kept.body, counts: [1, 0] };
    }
    if (!rule.includes('no-store') && (now.etag || now.modified !== undefined || /max-age/.test(rule)))
      this.#keep({ user, path, body: now.body, origin: now });
    return { body: now.body, counts: [1, 1] };
  }

  get files(): string[] {
    return [
      ...new Set(
        this.entries
          .map(({ body }) => body)
          .filter((body) => !this.missing.has(body))
          .map(digest),
      ),
    ].sort();
  }

  restart(): void {
    this.entries = this.entries.filter(({ body }) => !this.missing.has(body));
  }

  #keep(entry: ModelEntry): void {
    this.damaged.delete(entry.body);
    this.missing.delete(entry.body);
    this.entries.push(entry);
    const size = (bodies: Iterable<string>): number =>
      [...bodies].reduce((sum, { length }) => sum + Math.max(65_536, length), 0);
    const own = (): ModelEntry[] => this.entries.filter(({ user }) => user === entry.user);
    while (size(own().map(({ body }) => body)) > this.#limits.maxUserBytes) this.#remove(own()[0]!);
    while (size(new Set(this.entries.map(({ body }) => body))) > this.#limits.maxBytes) this.#remove(this.entries[0]!);
  }

  #remove(entry: ModelEntry): void {
    this.entries = this.entries.filter((one) => one !== entry);
  }
}

Urls(
  'random sequences of fetches, changes, cancellations, evictions, damages and restarts follow a model',
  async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = new Random(seed);
      const limits = { maxBytes: random.int(3, 12) * 100_000, maxUserBytes: random.int(2, 6) * 100_000 };
      const model = new Model(limits);
      await host.cache.close();
      rmSync(join(folder, 'cache'), { recursive: true, force: true });
      host = new Host(limits);
      await host.cache.clean();
      let modified = 0;
      const change = (path: string): void => {
        // Some bodies are those of several URLs.
        const body = `${random.int(1, 8)} `.repeat(random.pick([10, 20_000, 60_000]));
        const policy = random.pick(POLICIES);
        server.origins.set(path, { body, ...policy, ...('modified' in policy && { modified: ++modified }) });
      };
      PATHS.forEach(change);
      for (let step = 0; step < 60; step++) {
        const told = `seed ${seed}, step ${step}`;
        const [tenant, path] = [random.pick(USERS), random.pick(PATHS)];
        const choice = random.int(1, 20);
        if (choice <= 4) change(path);
        else if (choice <= 6) {
          await host.cache.close();
          for (const sha256 of choice === 6 ? inCache('files').slice(0, 1) : []) {
            const { body } = model.entries.find((entry) => digest(entry.body) === sha256)!;
            model.damaged.add(body);
            writeFileSync(join(folder, 'cache', 'files', sha256), 'x'.repeat(body.length));
          }
          model.restart();
          host = new Host({ ...limits, start: host.now });
          await host.cache.clean(); // as a service does at its start
        } else {
          const expected = model.fetch(tenant, path, server.origins.get(path)!);
          server.reset();
          const gate = server.close();
          const leaving = new AbortController();
          const isShared = random.chance(0.5);
          const first = isShared ? host.open(path, { tenant, signal: leaving.signal }) : undefined;
          first?.catch(() => {});
          const second = host.open(path, { tenant });
          await Promise.race([gate.arrived, second]);
          if (random.chance(0.5)) leaving.abort(new Error('left'));
          gate.open();
          await using file = await second;
          assert.ok(readFileSync(file.result.media.path, 'utf8') === expected.body, told); // a difference takes minutes
          assert.equal([server.requests.length, server.transfers], expected.counts, told);
          await first?.then((one) => one[Symbol.asyncDispose]()).catch(() => {});
        }
        assert.equal(inCache('files'), model.files, told);
      }
    }
  },
);

Urls('leave no temporary files', () => assert.equal(leaks, []));

Urls.run();
