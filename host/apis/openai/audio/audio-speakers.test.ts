// Transcripts with speakers, with the official client against real models.
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { SpeakerDiarizationDeployment } from 'aana-host';
import { conversation, type Voice, voiceSamples } from '../../../test/helpers/media/conversations.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath, silentVideo } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';

const Speakers = suite('transcriptions with speakers');
const folder = await mkdtemp(join(tmpdir(), 'aana-speakers-'));
const talk = join(folder, 'talk.wav');
const model = 'whisper-1';
const response_format = 'diarized_json';
let at: AudioApp;
let talkBytes: Uint8Array<ArrayBuffer>;
let references: Record<'kennedy' | 'snack' | 'nature' | 'short' | 'silence', Uint8Array<ArrayBuffer>>;

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

/** Sends the talk with known speakers: their names and their references. */
const withKnown = (names: readonly string[], references: readonly string[]): Promise<Response> => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model, response_format })) form.append(name, value);
  for (const name of names) form.append('known_speaker_names[]', name);
  for (const reference of references) form.append('known_speaker_references[]', reference);
  form.append('file', new Blob([talkBytes]), 'talk.wav');
  return fetch(`${at.url}/v1/audio/transcriptions`, { method: 'POST', body: form });
};

const dataUrl = (bytes: Uint8Array, type = 'audio/wav'): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

Speakers('have the names of their references, and others have letters', async () => {
  const answer = (await at.client.audio.transcriptions.create({
    ...{ file: createReadStream(talk), model, response_format },
    known_speaker_names: ['Kennedy', 'A'],
    known_speaker_references: [dataUrl(references.kennedy), dataUrl(references.nature, 'audio/flac')],
  })) as unknown as OpenAI.Audio.TranscriptionDiarized;
  assert.equal([...new Set(answer.segments.map(({ speaker }) => speaker))], ['Kennedy', 'B']);
  assert.match(answer.text, /^Kennedy: And so.*\nB: .*cheese/s);
  const text = await (await withKnown(['Snack'], [dataUrl(references.snack)])).text();
  assert.match(text, /"text":"A: And so.*nSnack: .*cheese/s);
});

Speakers('with wrong names or references are refused, and the error names the parameter', async () => {
  const { kennedy, snack } = references;
  const [good, other] = [dataUrl(kennedy), dataUrl(snack)];
  const text = dataUrl(Buffer.from('no audio'.repeat(100)));
  const cases: readonly (readonly [string[], string[], param: string, message: RegExp])[] = [
    [['Ada'], [], 'known_speaker_references', /1 names and 0 references/],
    [[], [good], 'known_speaker_references', /0 names and 1 references/],
    [['Ada', 'Bob'], [good], 'known_speaker_references', /2 names and 1 references/],
    [['a', 'b', 'c', 'd', 'e'], [good, other, good, good, good], 'known_speaker_names', /4/],
    [['Ada', 'Ada'], [good, other], 'known_speaker_names[1]', /another speaker has this name/],
    [['Ada', 'Bob'], [good, good], 'known_speaker_references[1]', /another speaker has this reference/],
    [['Ada\nBob'], [good], 'known_speaker_names[0]', /line breaks/],
    [['Ada'], ['https://example.com/ada.wav'], 'known_speaker_references[0]', /not a data URL of audio/],
    [['Ada'], [dataUrl(kennedy, 'image/png')], 'known_speaker_references[0]', /not a data URL of audio/],
    [['Ada'], ['data:audio/wav;base64,!!!!'], 'known_speaker_references[0]', /base64/],
    [['Ada'], [text], 'known_speaker_references[0]', /./],
    [['Ada', 'Bob'], [good, dataUrl(talkBytes)], 'known_speaker_references[1]', /2 to 10 s/],
    [['Ada'], [dataUrl(references.short)], 'known_speaker_references[0]', /it has 1\.0 s of audio/],
    [['Ada', 'Bob'], [good, dataUrl(references.silence)], 'known_speaker_references[1]', /no voice is heard/],
  ];
  for (const [names, urls, param, message] of cases) {
    const response = await withKnown(names, urls);
    const { error } = (await response.json()) as { error: { param: string | null; message: string } };
    assert.equal([response.status, error.param], [400, param], error.message);
    assert.match(error.message, message);
  }
  assert.equal(at.leftovers(), []);
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
  const wav = async (name: string, content: Float32Array): Promise<Uint8Array<ArrayBuffer>> => {
    const raw = join(folder, `${name}.f32`);
    await writeFile(raw, new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
    const path = join(folder, `${name}.wav`);
    await makeMedia(ffmpegPath(), path, '-f', 'f32le', '-ar', '16000', '-ac', '1', '-i', raw);
    return new Uint8Array(await readFile(path));
  };
  const secondsOf = (voice: Voice, from: number, to: number): Float32Array =>
    (voices.get(voice) ?? samples).slice(from * 16_000, to * 16_000);
  talkBytes = await wav('talk', samples);
  references = {
    kennedy: await wav('kennedy-reference', secondsOf('kennedy', 3, 8)),
    snack: await wav('snack-reference', secondsOf('snack', 1, 5)),
    nature: await wav('nature-reference', secondsOf('nature', 0, 4)),
    short: await wav('short-reference', secondsOf('kennedy', 3, 4)),
    silence: await wav('silence-reference', new Float32Array(48_000)),
  };
  Speakers.run();
}
