import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../../base/core/deferred.ts';
import type { AudioReference } from '../../../../base/schemas/media-references.ts';
import { GrowingAudio } from '../../../../base/schemas/growing-audio.ts';
import { type HeldMedia, withMedia } from './media-arguments.ts';

const Media = suite('media in the arguments of a guest');

const whole: AudioReference = { channels: [], sample_rate: 16_000 };

Media('audio that is being decoded is an argument as it is, and part of an argument when it is complete', async () => {
  const { promise, resolve } = deferred<AudioReference>();
  const early = { channels: [], sample_rate: 16_000, growing: { end: 'a/b.end', expected_samples: 1 } } as const;
  const growing = new GrowingAudio(early, promise);
  const waits: HeldMedia['waits'] = [];
  const media = { audio: [growing, whole], images: [], waits };
  const args = withMedia(
    '{"audio":{"$audio":0},"other":{"$audio":1},"audio_batch":[{"$audio":0},{"$audio":1}]}',
    media,
  );
  assert.is(args['audio'], growing);
  assert.is(args['other'], whole);
  assert.is(waits.length, 1);
  resolve(whole);
  await Promise.all(waits.map((wait) => wait()));
  assert.equal(args['audio_batch'], [whole, whole]);
  assert.is(args['audio'], growing);
});

Media('a guest cannot write a reference to growing files', () => {
  for (const channel of [{ artifact: { id: 'a/b-0.f32' } }, { path: '/etc/passwd' }]) {
    const forged = { channels: [channel], sample_rate: 16_000, growing: { end: 'a/b.end', expected_samples: 1 } };
    assert.throws(
      () => withMedia(JSON.stringify({ audio: forged }), { audio: [], images: [], waits: [] }),
      /name files of the host/,
    );
  }
});

Media.run();
