// Replicas that do not see the folders of a host: real models, real media, and a host over the replica's socket.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { fail } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import type { Artifact, AsrOutput, AudioReference, LiveResult } from '../../base/schemas/index.ts';
import { GrowingAudio } from '../../base/schemas/growing-audio.ts';
import { ReaderDeployment } from '../../application/fixtures/reader-deployment.ts';
import { artifactOf } from '../../io/artifacts/index.ts';
import { MediaService } from '../../io/media/index.ts';
import { ModelStore } from '../../setup/models/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { SAMPLE_TEXT, speakingVideo, speechPath } from '../../test/helpers/media/media.ts';
import { testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { wordErrors } from '../../test/helpers/media/word-errors.ts';
import { smallDisk } from '../../test/helpers/small-disk.ts';
import { skip } from '../../test/skip.ts';
import {
  builtinDefinitions,
  DeploymentManager,
  type DescribedHandle,
  RoutedDeployments,
} from '../deployments/index.ts';
import { until } from '../replicas/fixtures/sample-sets.ts';
import { cannotRun, readWav } from './fixtures/cannot-run.ts';

const Elsewhere = suite('replicas that do not see the files of a host');

let base = '';
let manager: DeploymentManager;
const hosts = new Set<Host>();
const ffmpegPath = await testFfmpeg();

interface Host {
  /** Folder of its artifacts. */
  readonly root: string;
  readonly media: MediaService;
  handle(name: string): DescribedHandle;
  leave(): Promise<void>;
}

const folderOf = async (name: string): Promise<string> => {
  await mkdir(join(base, name), { recursive: true });
  return join(base, name);
};
/** Where replicas keep copies: a disk for several of the speech sample, if this process may mount one. */
const disk = smallDisk(2048);
let copiesFolder = '';
const copies = (): string[] => readdirSync(copiesFolder).flatMap((own) => readdirSync(join(copiesFolder, own)));

/** Returns a host of its own folders, which calls the replicas of the manager directly. */
async function hostIn(name: string, decoder = ffmpegPath ?? ''): Promise<Host> {
  const root = await folderOf(name);
  const ending = new AbortController();
  const routed = new RoutedDeployments({
    ...{ log: silentLogger, artifactRoots: [root] },
    definitionOf: (type) => builtinDefinitions.find((definition) => definition.name === type),
  });
  const first = deferred();
  const follow = async (): Promise<void> => {
    for await (const change of manager.watch(routed.reports, ending.signal)) {
      routed.take(change);
      first.resolve();
    }
  };
  void follow().catch(first.reject);
  await first.promise;
  const media = new MediaService({
    ...{ ffmpegPath: decoder, allowPaths: ['/'], allowPrivateUrls: false, maxBytes: 1e8, maxDurationS: 60 },
    ...{ fetchTimeoutMs: 60_000, maxRedirects: 0, tempDir: root, log: silentLogger },
  });
  const host: Host = {
    ...{ root, media },
    handle: (deployment) => routed.handle(deployment, {}, {}),
    leave: async () => {
      hosts.delete(host);
      ending.abort();
      routed.close(fail('ConnectionLost', 'the host has left', { data: { url: '' } }));
      await media.close();
    },
  };
  hosts.add(host);
  return host;
}

Elsewhere.before(async () => {
  base = await mkdtemp(join(tmpdir(), 'aana-elsewhere-'));
  copiesFolder = disk?.folder ?? (await folderOf('copies'));
  manager = new DeploymentManager({
    ...{ log: silentLogger, env: process.env, socketsDir: await folderOf('sockets') },
    models: new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger }),
    artifacts: { roots: [await folderOf('controller')], copies: copiesFolder },
  });
  manager.register('asr', { type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  manager.register('reader', ReaderDeployment.options({ max_ongoing_requests: 4 }));
  await manager.start();
});
Elsewhere.after.each(async () => {
  await Promise.all([...hosts].map((host) => host.leave()));
  await until(() => copies().length === 0, 'no copy is left after the calls');
});
Elsewhere.after(async () => {
  await manager.shutdown({ graceMs: 0 });
  assert.equal(readdirSync(copiesFolder), [], 'replicas that ended leave no folder');
  disk?.[Symbol.dispose]();
  await rm(base, { recursive: true });
});

Elsewhere('transcribe speech, whole and in a stream, as the process that shares their folder', async () => {
  const [near, far] = [await hostIn('controller'), await hostIn('one')];
  const texts: string[] = [];
  for (const host of [near, far]) {
    await using audio = await host.media.openAudio({ path: speechPath() });
    const { transcription } = (await host.handle('asr').call('transcribe', { audio })) as AsrOutput;
    texts.push(transcription.text.trim());
    let streamed = '';
    for await (const batch of host.handle('asr').stream('transcribe_stream', { audio }))
      for (const value of batch as AsrOutput[]) streamed += value.transcription.text;
    assert.is(streamed.trim(), transcription.text.trim());
  }
  assert.is(texts[1], texts[0]);
  heard(texts[1]);
});

const heard = (text = '', mostErrors = 0): void => assert.ok(wordErrors(SAMPLE_TEXT, text) <= mostErrors, text);

/** Returns audio whose decoder has not ended. */
async function growingIn({ root }: Host, whole: AudioReference) {
  const [from] = whole.channels;
  const bytes = await readFile(join(root, from?.artifact.id ?? ''));
  const id = 'decoding/a-0.f32';
  const [file, end] = [join(root, id), 'decoding/a.end'];
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '');
  const complete = deferred<AudioReference>();
  const early = {
    channels: [{ artifact: { id } }],
    sample_rate: 16_000 as const,
    growing: { end, expected_samples: bytes.length / 4 },
  };
  return {
    audio: new GrowingAudio(early, complete.promise),
    begin: () => appendFile(file, bytes.subarray(0, 1000)),
    finish: async () => {
      await appendFile(file, bytes.subarray(1000));
      await writeFile(join(root, `${end}.part`), String(bytes.length / 4));
      await rename(join(root, `${end}.part`), join(root, end));
      complete.resolve(whole);
    },
    fail: async (error: Error) => {
      await rm(file);
      complete.reject(error);
    },
  };
}

Elsewhere('transcribe speech while it is decoded', async () => {
  const slow = join(base, 'slow-ffmpeg');
  await writeFile(
    slow,
    `#!/bin/sh
case "$*" in *f32le*) set -- -readrate 4 -readrate_initial_burst 3 "$@";; esac
exec '${ffmpegPath}' "$@"
`,
    { mode: 0o700 },
  );
  const host = await hostIn('one', slow);
  await using sound = await host.media.openSound({ path: speechPath() }, {});
  const audio = sound.reference;
  assert.instance(audio, GrowingAudio);
  const calls = [1, 2].map(() => host.handle('asr').call('transcribe', { audio }));
  await until(() => copies().length === 1, 'both calls share one copy');
  assert.is((audio as GrowingAudio).whole, undefined, 'the decoder has not ended');
  for (const call of calls) heard(((await call) as AsrOutput).transcription.text);
});

Elsewhere('end with the error of the decoder', async () => {
  const host = await hostIn('one');
  await using whole = await host.media.openAudio({ path: speechPath() });
  const growing = await growingIn(host, whole);
  const call = errorOf(host.handle('asr').call('transcribe', { audio: growing.audio }));
  await growing.begin();
  await until(() => copies().length === 1, 'the replica has a part of it');
  const reason = fail('MediaTooLongException', 'too long', { data: { max_duration: 5, video: {} } });
  await growing.fail(reason);
  assert.is(await call, reason);
});

Elsewhere('transcribe live speech', async () => {
  const host = await hostIn('one');
  const [samples = new Float32Array(0)] = await readWav(speechPath());
  const audio = async function* (): AsyncGenerator<Float32Array> {
    for (let at = 0; at < samples.length; at += 16_000) yield samples.slice(at, at + 16_000);
  };
  let text = '';
  for await (const batch of host.handle('asr').stream('transcribe_live', { audio: audio() }))
    for (const value of batch as LiveResult[]) if (value.type === 'final') text += value.text;
  heard(text, 4);
});

Elsewhere('get the frames of a video', async () => {
  const host = await hostIn('one');
  const path = join(base, 'speaking.mp4');
  await writeFile(path, await speakingVideo());
  await using video = await host.media.openVideo({ path });
  let count = 0;
  for await (const frame of video.frames({ every: 2 })) {
    const { pixels, width, height } = frame.image;
    const told = await host.handle('reader').call('read', { file: pixels });
    assert.equal(told, { bytes: 3 * width * height, sha256: pixels.sha256 });
    count += 1;
  }
  assert.ok(count > 3);
});

Elsewhere('refuse wrong bytes and artifacts that are not there, and go on', async () => {
  const host = await hostIn('one');
  await using whole = await host.media.openAudio({ path: speechPath() });
  const file = whole.channels[0]?.artifact as Artifact;
  const refusal = (given: Artifact): Promise<Error> => errorOf(host.handle('reader').call('read', { file: given }));
  assert.match((await refusal({ ...file, sha256: '0'.repeat(64) })).message, 'its bytes have another SHA-256');
  assert.match((await refusal({ ...file, bytes: file.bytes - 4 })).message, `more than ${file.bytes - 4} bytes`);
  assert.match((await refusal({ ...file, id: `${file.id}x` })).message, 'is not there any more, or never was');
  assert.equal(await host.handle('reader').call('read', { file }), { bytes: file.bytes, sha256: file.sha256 });
});

Elsewhere('lose a call whose replica was killed while it copied, which another one then answers', async () => {
  const host = await hostIn('one');
  await using whole = await host.media.openAudio({ path: speechPath() });
  const growing = await growingIn(host, whole);
  const call = host.handle('asr').call('transcribe', { audio: growing.audio });
  await growing.begin();
  await until(() => copies().length === 1, 'the replica has a part of it');
  const [part] = copies();
  process.kill(manager.status()['asr']?.replicas[0]?.pid ?? 0, 'SIGKILL');
  await until(() => copies().length === 1 && copies()[0] !== part, 'the next replica has a part, and removed that one');
  await growing.finish();
  heard(((await call) as AsrOutput).transcription.text);
});

if (disk)
  Elsewhere('refuse what finds no space, and go on', async () => {
    const host = await hostIn('one');
    await using speech = await host.media.openAudio({ path: speechPath() });
    const path = join(host.root, 'long', 'a.f32');
    const bytes = Buffer.alloc(4 * 1024 * 1024, 1);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    const artifact = await artifactOf(host.root, path, createHash('sha256').update(bytes).digest('hex'));
    const whole: AudioReference = { channels: [{ artifact, samples: bytes.length / 4 }], sample_rate: 16_000 };
    const growing = await growingIn(host, whole);
    await growing.begin();
    await growing.finish();
    // Once as a whole, and once as a host gives it that does not know yet that it is complete.
    const early = new GrowingAudio(
      growing.audio.early,
      growing.audio.complete.then(() => deferred<never>().promise),
    );
    for (const audio of [whole, early]) {
      const error = await errorOf(host.handle('asr').call('transcribe', { audio }));
      assert.equal([error.name, error.kind], ['DiskFullException', 'unavailable']);
      assert.match(error.message, `there is no space left in ${copiesFolder}`);
    }
    const { transcription } = (await host.handle('asr').call('transcribe', { audio: speech })) as AsrOutput;
    heard(transcription.text);
  });
else skip('replicas on a full disk', 'this user may not mount a file system');

Elsewhere('go on for another host when one leaves in the middle', async () => {
  const [leaving, staying] = [await hostIn('one'), await hostIn('two')];
  await using whole = await leaving.media.openAudio({ path: speechPath() });
  const growing = await growingIn(leaving, whole);
  const call = errorOf(leaving.handle('asr').call('transcribe', { audio: growing.audio }));
  await growing.begin();
  await until(() => copies().length === 1, 'the replica has a part of it');
  await leaving.leave();
  assert.is((await call).name, 'ConnectionLost');
  await until(() => copies().length === 0, 'the part is removed');
  await using audio = await staying.media.openAudio({ path: speechPath() });
  const { transcription } = (await staying.handle('asr').call('transcribe', { audio })) as AsrOutput;
  heard(transcription.text);
  assert.not(existsSync(join(staying.root, 'decoding')));
});

const reason = cannotRun ?? (ffmpegPath === undefined ? 'no ffmpeg' : undefined);
if (reason === undefined) Elsewhere.run();
else skip('replicas that do not see the files of a host', reason);
