import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import type { AudioReference } from '../../../base/schemas/index.ts';
import { GrowingAudio, type GrowingAudioReference } from '../../../base/schemas/growing-audio.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { DecodedMeanwhile, hasGrowingAudio, readyArguments, wholeArguments } from './growing-arguments.ts';

const Growing = suite('arguments that are being decoded');

const early: GrowingAudioReference = {
  channels: [{ artifact: { id: 'a/b-0.f32' } }],
  sample_rate: 16_000,
  growing: { end: 'a/b.end', expected_samples: 5 },
};
const artifact = { id: 'a/b-0.f32', bytes: 16, sha256: '0'.repeat(64) };
const whole: AudioReference = { channels: [{ artifact, samples: 4 }], sample_rate: 16_000 };
const decoderFailed = fail('DiskFullException', 'full');
const unreadable = fail('DecodedAudioError', 'removed');

function decoding() {
  const complete = deferred<AudioReference>();
  return { ...complete, audio: new GrowingAudio(early, complete.promise) };
}

Growing('are passed on to a method that takes them, and waited for by all others', async () => {
  const { audio, resolve } = decoding();
  const args = { audio, params: { beam_size: 1 } };
  assert.ok(hasGrowingAudio(args));
  assert.not(hasGrowingAudio({ params: {} }));
  const taken = await readyArguments(args, 'audio', undefined);
  assert.is(taken.growing?.audio, audio);
  assert.equal(taken.args, { audio: { channels: [], sample_rate: 16_000 }, params: { beam_size: 1 } });
  for (const other of [undefined, 'sound']) {
    let isReady = false;
    const waiting = readyArguments(args, other, undefined).then((ready) => ((isReady = true), ready));
    await new Promise(setImmediate);
    assert.not(isReady);
    if (other === undefined) continue;
    resolve(whole);
    assert.equal(await waiting, { args: { audio: whole, params: { beam_size: 1 } }, growing: undefined });
  }
  assert.is((await readyArguments(args, 'audio', undefined)).growing, undefined, 'it is complete');
});

Growing('that are waited for reject with the error of the decoder, or when the caller leaves', async () => {
  const { audio, reject } = decoding();
  const leaving = new AbortController();
  const reason = new Error('client went away');
  const left = errorOf(readyArguments({ audio }, undefined, leaving.signal), Error);
  leaving.abort(reason);
  assert.is(await left, reason);
  const waiting = errorOf(readyArguments({ audio }, undefined, undefined));
  reject(decoderFailed);
  assert.is(await waiting, decoderFailed);
});

Growing('end their call with the error of the decoder', async () => {
  const { audio, reject } = decoding();
  const meanwhile = new DecodedMeanwhile({ name: 'audio', audio }, undefined);
  assert.not(meanwhile.signal.aborted);
  const other = new Error('the model failed');
  assert.is(await meanwhile.reason(other), other);
  const first = meanwhile.reason(unreadable); // the replica has seen it before the host
  reject(decoderFailed);
  assert.is(await first, decoderFailed);
  assert.is(meanwhile.signal.reason, decoderFailed);
  assert.is(await meanwhile.reason(other), decoderFailed);
  assert.is(await errorOf(wholeArguments({}, { name: 'audio', audio })), decoderFailed);
});

Growing('leave an error of the replica alone when decoding succeeds', async () => {
  const { audio, resolve } = decoding();
  const leaving = new AbortController();
  const meanwhile = new DecodedMeanwhile({ name: 'audio', audio }, leaving.signal);
  resolve(whole);
  assert.is(await meanwhile.reason(unreadable), unreadable);
  leaving.abort(unreadable);
  assert.is(meanwhile.signal.reason, unreadable);
});

Growing('are complete when the use of a call is counted', async () => {
  const { audio, resolve } = decoding();
  resolve(whole);
  assert.equal(await wholeArguments({ audio: early, params: 1 }, { name: 'audio', audio }), {
    audio: whole,
    params: 1,
  });
  assert.equal(await wholeArguments({ params: 1 }, undefined), { params: 1 });
});

Growing.run();
