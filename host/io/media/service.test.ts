import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { VideoInput } from '../../base/schemas/media.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { MediaService } from './service.ts';
import type { MediaOptions, UploadedFile } from './types.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Service = suite('MediaService');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const tempDir = join(folder, 'temp');
Service.after(() => rmSync(folder, { recursive: true }));
const NO_FILES: ReadonlyMap<string, UploadedFile> = new Map();

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('MediaService', 'no ffmpeg');
} else {
  const speech = await makeMedia(ffmpegPath, join(folder, 'speech.wav'), ...sine(440, 1), '-ac', '2');
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (request.url === '/speech.wav' || request.url === '/my%20speech.wav') response.end(readFileSync(speech));
    else if (request.url === '/kept.wav') {
      const wave = readFileSync(speech);
      response.writeHead(200, { 'cache-control': 'max-age=60', 'content-length': wave.length }).end(wave);
    } else if (request.url === '/tagged.mp3') response.end(readFileSync(join(folder, 'tagged.mp3')));
    else if (request.url === '/slow') response.write('RIFF');
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options: MediaOptions = {
    ...{
      ffmpegPath,
      allowPaths: [folder],
      allowPrivateUrls: true,
      maxBytes: 1e7,
      maxDurationS: 60,
      fetchTimeoutMs: 60_000,
      maxRedirects: 2,
    },
    ...{ tempDir, log: silentLogger },
  };
  const leftovers = (): string[] =>
    (existsSync(tempDir) ? readdirSync(tempDir, { recursive: true }).map(String) : []).filter((path) =>
      /[/\\]/.test(path),
    );
  const nameOf = async (promise: Promise<unknown>): Promise<string> => (await errorOf(promise)).name;

  let service!: MediaService;
  Service.before.each(() => {
    requests = 0;
    service = new MediaService(options);
  });
  Service.after.each(() => service.close());

  Service('reads a format that only the name of a file tells: of uploads, paths and URLs', async () => {
    const sound = await makeMedia(
      ffmpegPath,
      join(folder, 'plain.mp3'),
      ...[...sine(440, 2), '-c:a', 'libmp3lame', '-id3v2_version', '0', '-write_xing', '0'],
    );
    // A comment whose text looks like packets of another format.
    const comment = Buffer.from('\ufeffё'.padEnd(1_500_000, 'ё'), 'utf16le');
    const frame = Buffer.concat([Buffer.from('\x01eng\xff\xfe\0\0', 'latin1'), comment]);
    const size = (value: number, bits: number) =>
      Buffer.from([3, 2, 1, 0].map((at) => (value >> (bits * at)) & (2 ** bits - 1)));
    const tag = Buffer.concat([Buffer.from('COMM'), size(frame.length, 8), Buffer.from([0, 0]), frame]);
    const tagged = Buffer.concat([Buffer.from('ID3\x03\0\0', 'latin1'), size(tag.length, 7), tag, readFileSync(sound)]);
    const path = join(folder, 'tagged.mp3');
    writeFileSync(path, tagged);
    const stored = join(folder, 'part-0');
    writeFileSync(stored, tagged);
    const upload = (filename?: string) => ({
      files: new Map([['file', { path: stored, bytes: tagged.length, ...(filename !== undefined && { filename }) }]]),
    });
    await using scope = service.openScope({ maxBytes: 1e7 });
    assert.is(await nameOf(scope.open({ content: 'file' }, upload())), 'VideoReadingException');
    for (const filename of ['tagged.mp3', 'C:\\x\\tagged.MP3'])
      assert.ok((await scope.open({ content: 'file', media_id: filename }, upload(filename))).info.hasAudio);
    for (const source of [{ path }, { url: `${base}/tagged.mp3` }])
      assert.ok((await scope.open(source, { files: NO_FILES })).info.hasAudio, JSON.stringify(source));
  });

  Service('fetches a URL with spaces in it and around it', async () => {
    await using scope = service.openScope();
    const { url } = VideoInput.parse({ url: ` ${base}/my speech.wav\n` });
    assert.is((await scope.open({ url }, { files: NO_FILES })).info.duration, 1);
    const wrong = VideoInput.parse({ url: 'http://my host/x.mp4' });
    assert.match((await errorOf(scope.open(wrong, { files: NO_FILES }))).message, 'it is not a URL');
  });

  Service('refuses an audio track that the file lacks, and decodes each track once', async () => {
    const path = await makeMedia(
      ffmpegPath,
      join(folder, 'tracks.mkv'),
      ...[...sine(440, 1), ...sine(1000, 2), '-map', '0', '-map', '1', '-c:a', 'flac'],
    );
    await using scope = service.openScope();
    const durations = [];
    for (const audio_track of [0, 1, undefined, 1]) {
      const video = await scope.open({ path, audio_track }, { files: NO_FILES });
      durations.push((await video.extractAudio('mix')).duration);
    }
    assert.equal(durations, [1, 2, 1, 2]);
    const error = await errorOf(scope.open({ path, audio_track: 2 }, { files: NO_FILES }));
    assert.match(error.message, 'the file has no audio track 2; its audio tracks are 0');
  });
  Service.after(() => {
    server.closeAllConnections();
    server.close();
  });

  Service('opens a URL, decodes it, and removes its files on disposal', async () => {
    let pcm = '';
    {
      await using scope = service.openScope();
      const video = await scope.open({ url: `${base}/speech.wav`, media_id: 'mine' }, { files: NO_FILES });
      assert.is(video.mediaId, 'mine');
      assert.equal(video.info, { duration: 1, hasAudio: true, hasVideo: false });
      const audio = await video.extractAudio('separate');
      assert.is(audio.duration, 1);
      assert.is(audio.reference.channels.length, 2);
      pcm = join(tempDir, audio.reference.channels[0]?.artifact.id ?? '');
      assert.ok(existsSync(pcm) && pcm.startsWith(tempDir));
    }
    assert.not.ok(existsSync(pcm));
    assert.equal(leftovers(), []);
  });

  Service('fetches a URL once for a scope, even if it is opened twice at the same time', async () => {
    await using scope = service.openScope();
    const url = `${base}/speech.wav`;
    const [first, second] = await Promise.all([
      scope.open({ url }, { files: NO_FILES }),
      scope.open({ url }, { files: NO_FILES }),
    ]);
    const third = await scope.open({ url }, { files: NO_FILES });
    assert.is(requests, 1);
    assert.is(new Set([first.mediaId, second.mediaId, third.mediaId]).size, 3);
    const [one, other] = await Promise.all([first.extractAudio('mix'), third.extractAudio('mix')]);
    assert.equal(one.reference, other.reference);
    await using another = service.openScope();
    await another.open({ url }, { files: NO_FILES });
    assert.is(requests, 2);
  });

  Service('fetches a URL once for the scopes of a user that are open at the same time', async () => {
    const url = `${base}/speech.wav`;
    const durationFor = async (userId: string): Promise<number> => {
      await using scope = service.openScope({ context: { userId } });
      const video = await scope.open({ url }, { files: NO_FILES });
      return (await video.extractAudio('mix')).duration;
    };
    assert.equal(await Promise.all(['ann', 'ann', 'bob'].map(durationFor)), [1, 1, 1]);
    assert.is(requests, 2);
    assert.equal(leftovers(), []);
  });

  Service('keeps files of a user between requests, also over a restart', async () => {
    const cache = { folder: join(folder, 'cache'), maxBytes: 1e8, maxUserBytes: 1e8, unusedMs: 1e9 };
    const source = { url: `${base}/kept.wav` };
    for (let start = 0; start < 2; start++) {
      await using keeping = new MediaService({ ...options, cache });
      for (let n = 0; n < 2; n++) {
        await using audio = await keeping.openAudio(source, { userId: 'ann' });
        assert.is(audio.duration, 1);
        await using video = await keeping.openVideo(source, { userId: 'ann' });
        assert.ok(video.facts.has_audio);
      }
    }
    assert.is(requests, 1);
    await using keeping = new MediaService({ ...options, cache });
    await using _other = await keeping.openAudio(source, { client: '10.0.0.1' });
    assert.is(requests, 2);
    const beside = readdirSync(cache.folder).filter((name) => name.startsWith('aana-host'));
    assert.is(beside.length, 1, 'the folder of this process');
  });

  Service('fetches again after a failure', async () => {
    await using scope = service.openScope();
    const url = `${base}/missing`;
    assert.is(await nameOf(scope.open({ url }, { files: NO_FILES })), 'DownloadException');
    assert.is(await nameOf(scope.open({ url }, { files: NO_FILES })), 'DownloadException');
    assert.is(requests, 2);
  });

  Service('opens an allowed path and an uploaded part without changing them', async () => {
    {
      await using scope = service.openScope();
      const files = new Map([['video', { path: speech, bytes: 1 }]]);
      assert.ok((await scope.open({ path: speech }, { files })).info.hasAudio);
      assert.ok((await scope.open({ content: 'video' }, { files })).info.hasAudio);
    }
    assert.ok(existsSync(speech));
  });

  Service('names a missing uploaded part', async () => {
    await using scope = service.openScope();
    const error = await scope.open({ content: 'vidoe' }, { files: NO_FILES }).catch((thrown: unknown) => thrown);
    assert.ok(
      error instanceof AanaError &&
        error.name === 'UploadedFileNotFound' &&
        error.kind === 'invalid-input' &&
        error.message.includes('vidoe'),
    );
  });

  Service('denies other paths, and private addresses unless they are allowed', async () => {
    await using scope = service.openScope();
    assert.is(await nameOf(scope.open({ path: '/etc/passwd' }, { files: NO_FILES })), 'PathNotAllowedException');
    await using strictService = new MediaService({ ...options, allowPrivateUrls: false });
    await using strict = strictService.openScope();
    assert.is(await nameOf(strict.open({ url: `${base}/speech.wav` }, { files: NO_FILES })), 'PrivateAddressException');
    assert.is(requests, 0);
  });

  Service('removes its files when opening fails or is aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('client went away');
    {
      await using scope = service.openScope();
      const opening = scope
        .open({ url: `${base}/slow` }, { files: NO_FILES, signal: controller.signal })
        .catch((error: unknown) => error);
      for (; leftovers().length < 1; await delay(5)); // the file
      controller.abort(reason);
      assert.is(await opening, reason);
    }
    assert.equal(leftovers(), []);
  });

  Service('stops running work when the scope is disposed, and opens nothing afterwards', async () => {
    const scope = service.openScope();
    const opening = nameOf(scope.open({ url: `${base}/slow` }, { files: NO_FILES }));
    for (; leftovers().length < 1; await delay(5));
    await scope[Symbol.asyncDispose]();
    assert.is(await opening, 'CancelledError');
    assert.equal(leftovers(), []);
    await scope[Symbol.asyncDispose]();
    assert.is(await nameOf(scope.open({ path: speech }, { files: NO_FILES })), 'CancelledError');
  });

  Service('decodes many files with few processes', async () => {
    await using narrow = new MediaService({ ...options, maxProcesses: 1 });
    const scopes = [narrow.openScope(), narrow.openScope(), narrow.openScope()];
    const durations = await Promise.all(
      scopes.map(async (scope) => {
        await using own = scope;
        const video = await own.open({ path: speech }, { files: NO_FILES });
        return (await video.extractAudio('mix')).duration;
      }),
    );
    assert.equal(durations, [1, 1, 1]);
  });

  Service('leaves no files when it is closed, even twice', async () => {
    const own = new MediaService({ ...options, tempDir: join(folder, 'other') });
    const scope = own.openScope();
    await (await scope.open({ path: speech }, { files: NO_FILES })).extractAudio('mix');
    await scope[Symbol.asyncDispose]();
    await own.close();
    await own.close();
    assert.equal(readdirSync(join(folder, 'other')), []);
    assert.is(await nameOf(own.openScope().open({ url: `${base}/speech.wav` }, { files: NO_FILES })), 'CancelledError');
  });
}

Service.run();
