// Transcripts with speakers, with the official client against real models.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../../engines/fixtures/real-models.ts';
import { SpeakerDiarizationDeployment } from '../../../../index.ts';
import { conversation, voiceSamples } from '../../../../test/helpers/media/conversations.ts';
import { makeMedia } from '../../../../test/helpers/media/media-files.ts';
import { ffmpegPath, silentVideo } from '../../../../test/helpers/media/media.ts';
import { skip } from '../../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';

const Speakers = suite('transcriptions with speakers');
const folder = await mkdtemp(join(tmpdir(), 'aana-speakers-'));
const talk = join(folder, 'talk.wav');
const model = 'whisper-1';
const response_format = 'diarized_json';
let at: AudioApp;

Speakers.before(async () => {
  at = await startAudioApp({
    prepare: (app) => {
      const options = SpeakerDiarizationDeployment.options({ user_config: { threads: 1 } });
      app.registerDeployment('speakers', options);
    },
  });
});
Speakers.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

type Segment = OpenAI.Audio.TranscriptionDiarizedSegment;

/** Asserts that two people have their own words, and that the first one has the first letter. */
function checkSegments(segments: readonly Segment[]): void {
  const speakersOf = (pattern: RegExp): string[] => [
    ...new Set(segments.filter(({ text }) => pattern.test(text)).map(({ speaker }) => speaker)),
  ];
  assert.equal([speakersOf(/fellow Americans/i), speakersOf(/blue cheese/i)], [['A'], ['B']]);
  let last = 0;
  for (const { id, start, end, type } of segments) {
    assert.is(type, 'transcript.text.segment');
    assert.match(id, /^seg_\d{3}$/);
    assert.ok(start >= last && end >= start);
    last = start;
  }
}

Speakers('have the letters of who says what', async () => {
  const answer = (await at.client.audio.transcriptions.create({
    ...{ file: createReadStream(talk), model, response_format },
  })) as unknown as OpenAI.Audio.TranscriptionDiarized;
  checkSegments(answer.segments);
  assert.equal([answer.task, answer.usage?.type], ['transcribe', 'duration']);
  assert.ok(answer.duration > 10);
  assert.match(answer.text, /^A: And so.*\nB: .*cheese/s);
});

Speakers('are streamed by segments', async () => {
  const stream = await at.client.audio.transcriptions.create({
    ...{ file: createReadStream(talk), model, response_format, stream: true as const },
  });
  const segments: Segment[] = [];
  const deltas = new Map<string, string>();
  let done = '';
  for await (const event of stream) {
    if (event.type === 'transcript.text.segment') segments.push(event);
    else if (event.type === 'transcript.text.delta') deltas.set(event.segment_id ?? '', event.delta);
    else done = event.text;
  }
  checkSegments(segments);
  assert.equal(
    [...deltas],
    segments.map(({ id, text }) => [id, text]),
  );
  assert.match(done, /^A: /);
});

Speakers('of a silent video are none', async () => {
  const file = await toFile(await silentVideo(), 'silent.mp4');
  const answer = (await at.client.audio.transcriptions.create({ file, model, response_format })) as unknown;
  const { text, segments } = answer as OpenAI.Audio.TranscriptionDiarized;
  assert.equal([text, segments], ['', []]);
});

const voices = cannotRun ?? (await voiceSamples(folder));
if (typeof voices === 'string') {
  skip('transcriptions with speakers', voices);
  await rm(folder, { recursive: true });
} else {
  const { samples } = conversation(voices, [
    ['kennedy', 0],
    ['snack', 0.5],
  ]);
  const raw = join(folder, 'talk.f32');
  await writeFile(raw, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  await makeMedia(ffmpegPath(), talk, '-f', 'f32le', '-ar', '16000', '-ac', '1', '-i', raw);
  Speakers.run();
}
