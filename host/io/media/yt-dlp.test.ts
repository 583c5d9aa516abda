import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { launcherPath } from '../../base/processes/index.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { isRunning, until } from '../../test/helpers/server.ts';
import { testYtDlp } from '../../test/helpers/media/yt-dlp.ts';
import { skip } from '../../test/skip.ts';
import { MediaService } from './service.ts';
import type { MediaOptions, VideoMedia } from './types.ts';
import { requireYtDlp } from './yt-dlp.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Pages = suite('videos of web pages');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const servers: Server[] = [];
Pages.after.each(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
Pages.after(() => rmSync(folder, { recursive: true }));

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, asked };
}

const page = (body: string): string =>
  `<!doctype html><html><head><title>A short talk</title><meta property="og:description" content="About tea; and ` +
  `cups"></head><body>${body}</body></html>`;

const ffmpegPath = await testFfmpeg();
const ytDlpPath = await testYtDlp();
const program = (name: string, script: string): string => {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
};

const options = (path: string | undefined, more: Partial<MediaOptions> = {}): MediaOptions => ({
  ...{
    ffmpegPath: ffmpegPath ?? '',
    allowPaths: [],
    allowPrivateUrls: true,
    maxBytes: 10_000_000,
    maxDurationS: 60,
    fetchTimeoutMs: 120_000,
    maxRedirects: 3,
  },
  ...{
    tempDir: join(folder, 'temp'),
    log: silentLogger,
    ...(path !== undefined && { ytDlp: { path, env: { ...process.env, AANA_SECRET: 's3cret' } } }),
  },
  ...more,
});

async function open<T>(
  url: string,
  given: MediaOptions,
  use: (media: VideoMedia) => Promise<T> | T,
  signal?: AbortSignal,
): Promise<T> {
  await using service = new MediaService(given);
  await using scope = service.openScope();
  return await use(await scope.open({ url }, { files: new Map(), signal }));
}

Pages('a page is refused with an explanation if yt-dlp is not configured', async () => {
  const { url } = await serve((_, response) =>
    response.writeHead(200, { 'content-type': 'Text/HTML; charset=utf-8' }).end(page('')),
  );
  const error = await errorOf(open(`${url}/watch`, options(undefined), () => {}));
  assert.equal([error.name, error.kind], ['DownloadException', 'bad-request']);
  assert.is(
    error.message,
    `cannot fetch ${url}/watch: it is a web page; give the address of the file itself, or have the server set up to ` +
      `download videos from pages (media.yt_dlp_path)`,
  );
});

Pages('a page is never searched for an image', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page('')));
  await using service = new MediaService(options('/bin/false'));
  await using scope = service.openScope();
  assert.match(
    (await errorOf(scope.openImage({ url }, { files: new Map() }))).message,
    /it is a web page; give the address of the file itself$/,
  );
});

Pages('the error names a configured yt-dlp that cannot be run', async () => {
  for (const path of [join(folder, 'missing'), folder.concat('/none/yt-dlp')]) {
    const error = await errorOf(requireYtDlp(path));
    assert.equal([error.name, error.message.includes(path)], ['YtDlpNotFound', true]);
  }
  assert.is(await requireYtDlp('/bin/sh'), '/bin/sh');
});

Pages('the program gets no secret of the server, only its own folder, and no argument with the address', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page('')));
  const out = join(folder, 'seen');
  const spy = program('spy', `{ env; pwd; ls -a; echo "$@"; } > ${out}; exit 1`);
  await errorOf(open(url.replace('//', '//user:pa55@'), options(spy), () => {}));
  const seen = readFileSync(out, 'utf8');
  assert.not.match(seen, /s3cret|AANA_|pa55/);
  assert.match(seen, /^HTTPS_PROXY=http:\/\/aana:\w+@127\.0\.0\.1:\d+$/m);
  assert.ok(seen.includes(`HOME=${join(folder, 'temp')}`));
});

Pages('errors name a video that is too long, a live stream, and the failure of the program', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page('')));
  const said = async (script: string): Promise<AanaError> =>
    errorOf(open(url, options(program('says', script)), () => {}));
  assert.is((await said(`echo '{"duration": 61}'`)).name, 'MediaTooLongException');
  assert.match((await said(`echo '{"is_live": true}'`)).message, /live stream/);
  assert.is(
    (await said(`echo 'ERROR: [site] x: gone; please report this issue' >&2; exit 1`)).message,
    `cannot fetch ${url}/: [site] x: gone`,
  );
  assert.match((await said('echo no JSON; exit 3')).message, /yt-dlp exited with code 3$/);
  assert.is((await said(`echo 'ERROR: No space left on device' >&2; exit 1`)).name, 'DiskFullException');
  assert.match((await said('ln -s /etc/passwd media.mp4')).message, /leads to no video/);
});

Pages('an old version of the program runs without the option that turns scripts off', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page('')));
  const old = program(
    'old',
    `for each; do [ "$each" != --no-js-runtimes ] || { echo 'yt-dlp: error: no such option: --no-js-runtimes' >&2; ` +
      `exit 2; }; done; echo "ERROR: asked with $#" >&2; exit 1`,
  );
  assert.match((await errorOf(open(url, options(old), () => {}))).message, /: asked with \d+$/);
});

Pages('requests of a user for one page share a download, which is not kept', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page('')));
  const runs = join(folder, 'runs');
  const failing = program('failing', `echo run >> ${runs}; sleep 0.2; echo 'ERROR: no video here' >&2; exit 1`);
  const cache = { folder: join(folder, 'cache'), maxBytes: 1e8, maxUserBytes: 1e8, unusedMs: 1e9 };
  await using service = new MediaService(options(failing, { cache }));
  const failure = async (): Promise<string> => {
    await using scope = service.openScope({ context: { userId: 'ann' } });
    return (await errorOf(scope.open({ url }, { files: new Map() }))).message;
  };
  const told = await Promise.all([failure(), failure()]);
  for (const message of told) assert.match(message, 'no video here');
  assert.is(readFileSync(runs, 'utf8'), 'run\n');
  await failure();
  assert.is(readFileSync(runs, 'utf8'), 'run\nrun\n');
});

if (launcherPath()) {
  Pages('the program and its children end when the client leaves', async () => {
    const { url } = await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(page('')),
    );
    const pids = join(folder, 'pids');
    const busy = program('busy', `sleep 1000 & echo "$$ $!" > ${pids}.new; mv ${pids}.new ${pids}; wait`);
    const client = new AbortController();
    const opening = open(url, options(busy), () => {}, client.signal).catch((error: unknown) => error);
    await until(async () => existsSync(pids));
    const gone = new Error('gone');
    client.abort(gone);
    assert.is(await opening, gone);
    for (const pid of readFileSync(pids, 'utf8').trim().split(' '))
      await until(async () => !(await isRunning(Number(pid))));
  });
}

if (ytDlpPath === undefined || ffmpegPath === undefined) {
  skip('videos of web pages, with yt-dlp', ffmpegPath === undefined ? 'no ffmpeg' : 'yt-dlp cannot be installed');
} else {
  const video = await makeMedia(
    ffmpegPath,
    join(folder, 'talk.mp4'),
    ...sine(440, 2),
    '-f',
    'lavfi',
    '-i',
    'color=size=64x64:duration=2',
    '-shortest',
  );
  const bytes = readFileSync(video);
  const site =
    (body: string): RequestListener =>
    (request, response) => {
      if (request.url?.startsWith('/talk.mp4'))
        response
          .writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes.length })
          .end(request.method === 'HEAD' ? undefined : bytes);
      else if (request.url === '/watch') response.writeHead(200, { 'content-type': 'text/html' }).end(page(body));
      else response.writeHead(404).end();
    };

  Pages('the video of a page is downloaded and decoded, with its title and description', async () => {
    const { url } = await serve(site('<video src="/talk.mp4"></video>'));
    await open(`${url}/watch`, options(ytDlpPath), async (media) => {
      const { info } = media;
      assert.match(info.title ?? '', /^A short talk/);
      assert.equal([info.description, info.hasAudio, info.hasVideo], ['About tea; and cups', true, true]);
      const audio = await media.extractAudio('mix');
      assert.ok(audio.duration > 1.5);
    });
    assert.equal(readdirSync(join(folder, 'temp')), [], 'files were left');
  });

  Pages('yt-dlp starts no script runtime and no other program of the PATH', async () => {
    const { url } = await serve(site('<video src="/talk.mp4"></video>'));
    const started = join(folder, 'started');
    const decoys = join(folder, 'decoys');
    mkdirSync(decoys);
    for (const name of [
      'deno',
      'node',
      'bun',
      'qjs',
      'quickjs',
      'phantomjs',
      'ffmpeg',
      'ffprobe',
      'avconv',
      'avprobe',
      'AtomicParsley',
      'rtmpdump',
      'aria2c',
      'curl',
      'wget',
    ]) {
      writeFileSync(join(decoys, name), `#!/bin/sh\necho ${name} "$@" >> ${started}\necho ${name} 2.9.9\n`, {
        mode: 0o755,
      });
    }
    const env = { ...process.env, PATH: `${decoys}:${process.env['PATH']}` };
    await open(`${url}/watch`, options(undefined, { ytDlp: { path: ytDlpPath, env } }), () => {});
    assert.not.ok(existsSync(started), existsSync(started) ? readFileSync(started, 'utf8') : '');
    const said = join(folder, 'said');
    // Prints the runtimes that it would use.
    const telling = program('telling', `exec ${ytDlpPath} "$@" --verbose 2> ${said}`);
    await open(`${url}/watch`, options(undefined, { ytDlp: { path: telling, env } }), () => {});
    assert.match(readFileSync(said, 'utf8'), /JS runtimes: none \(disabled\)/);
  });

  Pages('a page cannot make yt-dlp request a private address, neither as its video nor by a redirect', async () => {
    const inner = await serve(site(''), '127.0.0.2');
    const outer = await serve((request, response) => {
      if (request.url === '/moved.mp4') response.writeHead(302, { location: `${inner.url}/talk.mp4` }).end();
      else
        site(`<video src="${request.url?.endsWith('2') ? '/moved.mp4' : `${inner.url}/talk.mp4`}"></video>`)(
          { ...request, url: '/watch' } as typeof request,
          response,
        );
    });
    const strict = options(ytDlpPath, { allowPrivateUrls: false, isPublic: (address) => address === '127.0.0.1' });
    for (const path of ['/1', '/2']) {
      const error = await errorOf(open(`${outer.url}${path}`, strict, () => {}));
      assert.equal([error.name, error.kind], ['PrivateAddressException', 'denied'], error.message);
    }
    assert.equal(inner.asked, []);
  });

  Pages('errors name a page without a video and a video that is too large', async () => {
    const none = await serve(site('no video here'));
    assert.match(
      (await errorOf(open(`${none.url}/watch`, options(ytDlpPath), () => {}))).message,
      /^cannot fetch http:\S+\/watch: .*Unsupported URL/,
    );
    const large = await serve(site('<video src="/talk.mp4"></video>'));
    const error = await errorOf(
      open(`${large.url}/watch`, options(ytDlpPath, { maxBytes: bytes.length - 1 }), () => {}),
    );
    assert.match(error.message, new RegExp(`at most ${bytes.length - 1} bytes|more than ${bytes.length - 1} bytes`));
  });
}

Pages.run();
