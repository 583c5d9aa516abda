// Audio that is used while it is decoded.
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { GrowingAudio, type GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { MediaService } from './service.ts';
import type { EarlyAudio, MediaOptions } from './types.ts';

const Growing = suite('audio that is being decoded');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const tempDir = join(folder, 'temp');
Growing.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('audio that is being decoded', 'no ffmpeg');
} else {
  /**
   * A decoder that reads three seconds at once and further ones only as they pass. It writes its process id to a file.
   */
  const decoder = join(folder, 'slow-ffmpeg');
  const pidFile = join(folder, 'pid');
  writeFileSync(
    decoder,
    `#!/bin/sh
case "$*" in *f32le*) ;; *) exec '${ffmpegPath}' "$@";; esac
echo $$ > '${pidFile}'
exec '${ffmpegPath}' -readrate 1 -readrate_initial_burst 3 "$@"
`,
  );
  chmodSync(decoder, 0o700);
  const options: MediaOptions = {
    ...{ ffmpegPath: decoder, allowPaths: [folder], allowPrivateUrls: false, maxBytes: 1e6, maxDurationS: 60 },
    ...{ fetchTimeoutMs: 60_000, maxRedirects: 2, tempDir, log: silentLogger },
  };
  const path = await makeMedia(ffmpegPath, join(folder, 'sound.wav'), ...sine(440, 10), '-ac', '2');
  const open = { files: new Map() };

  let service!: MediaService;
  Growing.before.each(() => {
    service = new MediaService(options);
  });
  Growing.after.each(() => service.close());

  const growingOf = ({ reference }: EarlyAudio): GrowingAudio => {
    if (!(reference instanceof GrowingAudio)) throw new Error('the audio is complete');
    return reference;
  };
  const endOf = ({ early }: GrowingAudio): string => join(tempDir, early.growing.end);
  const filesOf = ({ channels }: GrowingAudioReference): string[] =>
    channels.map(({ artifact }) => join(tempDir, artifact.id));

  for (const [channels, count] of [
    ['mix', 1],
    ['separate', 2],
  ] as const)
    Growing(`is handed on while the decoder runs, and becomes complete: ${channels}`, async () => {
      await using scope = service.openScope();
      const video = await scope.open({ path }, open);
      const audio = await video.extractAudio(channels, { early: true });
      const growing = growingOf(audio);
      assert.is(audio.duration, 10);
      assert.is(growing.early.channels.length, count);
      assert.is(growing.early.growing.expected_samples, 160_000);
      assert.not(existsSync(endOf(growing)));
      for (const file of filesOf(growing.early)) assert.ok(existsSync(file));
      const again = await video.extractAudio(channels, { early: true });
      assert.is(growingOf(again), growing, 'it is decoded once');
      const whole = await video.extractAudio(channels);
      assert.equal(await growing.complete, whole.reference);
      assert.is(audio.reference, whole.reference);
      assert.is(audio.duration, 10);
      assert.is(readFileSync(endOf(growing), 'utf8'), Array(count).fill('160000').join(' '));
      assert.equal(
        whole.reference.channels.map(({ artifact }) => artifact.id),
        growing.early.channels.map(({ artifact }) => artifact.id),
      );
    });

  Growing('is handed on when it is known that channels cancel each other out', async () => {
    const tone = '0.3*sin(2*PI*440*t)*gt(t\\,4)';
    const swapped = await makeMedia(
      ffmpegPath,
      join(folder, 'swapped.wav'),
      ...['-f', 'lavfi', '-i', `aevalsrc=${tone}|-${tone}:s=16000:d=10`],
    );
    await using scope = service.openScope();
    const video = await scope.open({ path: swapped }, open);
    const growing = growingOf(await video.extractAudio('mix', { early: true }));
    const [early = ''] = filesOf(growing.early);
    const whole = await growing.complete;
    assert.is(join(tempDir, whole.channels[0]?.artifact.id ?? ''), early);
    const bytes = readFileSync(early);
    const pcm = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    assert.ok(pcm.some((value) => value > 0.25));
  });

  Growing('is complete at once when decoding is quick', async () => {
    await using quick = new MediaService({ ...options, ffmpegPath });
    await using scope = quick.openScope();
    const audio = await (await scope.open({ path }, open)).extractAudio('mix', { early: true });
    if (audio.reference instanceof GrowingAudio) await audio.reference.complete; // a very slow machine
    assert.not(audio.reference instanceof GrowingAudio);
    assert.is(audio.duration, 10);
  });

  Growing('is waited for when the file does not say its duration', async () => {
    const unsaid = await makeMedia(
      ffmpegPath,
      join(folder, 'unsaid.mkv'),
      ...[...sine(440, 5), '-c:a', 'flac', '-live', '1'],
    );
    await using scope = service.openScope();
    const audio = await (await scope.open({ path: unsaid }, open)).extractAudio('mix', { early: true });
    assert.not(audio.reference instanceof GrowingAudio);
    assert.ok(Math.abs(audio.duration - 5) < 0.1);
  });

  Growing('fails with the error of the decoder, leaves no file, and can be decoded again', async () => {
    await using scope = service.openScope();
    const video = await scope.open({ path }, open);
    const growing = growingOf(await video.extractAudio('mix', { early: true }));
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    const error = await errorOf(growing.complete);
    assert.is(error.name, 'AudioReadingException');
    for (const file of [...filesOf(growing.early), endOf(growing)]) assert.not(existsSync(file));
    assert.is((await video.extractAudio('mix')).duration, 10);
  });

  Growing('fails when it turns out to be too long, without an end', async () => {
    // Its duration lies within the second that is decoded beyond the limit, so only the decoder notices it.
    await using limited = new MediaService({ ...options, maxDurationS: 9.5 });
    await using scope = limited.openScope();
    const video = await scope.open({ path }, open);
    const growing = growingOf(await video.extractAudio('mix', { early: true }));
    assert.is((await errorOf(growing.complete)).name, 'MediaTooLongException');
    assert.not(existsSync(endOf(growing)));
  });

  Growing('of a file that was cut off ends with the samples that can be decoded', async () => {
    const mp3 = await makeMedia(ffmpegPath, join(folder, 'whole.mp3'), ...sine(440, 20), '-c:a', 'libmp3lame');
    const bytes = readFileSync(mp3);
    const half = join(folder, 'half.mp3');
    writeFileSync(half, bytes.subarray(0, bytes.length / 2));
    await using scope = service.openScope();
    const audio = await (await scope.open({ path: half }, open)).extractAudio('mix', { early: true });
    const growing = growingOf(audio);
    const [channel] = (await growing.complete).channels;
    assert.ok(channel && channel.samples < 11 * 16_000, JSON.stringify(channel));
    assert.is(audio.duration, channel.samples / 16_000);
    assert.is(readFileSync(endOf(growing), 'utf8'), String(channel.samples));
  });

  Growing('stops with its scope, whose files are removed', async () => {
    const scope = service.openScope();
    const growing = growingOf(await (await scope.open({ path }, open)).extractAudio('mix', { early: true }));
    const failed = errorOf(growing.complete);
    await scope[Symbol.asyncDispose]();
    assert.match((await failed).message, 'the media scope was disposed');
    assert.not(readdirSync(tempDir, { recursive: true }).some((name) => String(name).endsWith('.f32')));
  });

  Growing('stops with the signal of its request', async () => {
    const controller = new AbortController();
    const reason = new Error('client went away');
    const file = { path, bytes: 1 };
    await using sound = await service.openSound(
      { content: 'file' },
      { files: new Map([['file', file]]), signal: controller.signal },
    );
    assert.ok(sound.hasAudio);
    const growing = growingOf(sound);
    const failed = errorOf(growing.complete, Error);
    controller.abort(reason);
    assert.is(await failed, reason);
    for (const name of filesOf(growing.early)) for (; existsSync(name); await delay(5));
  });
}

Growing.run();
