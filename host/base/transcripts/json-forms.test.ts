import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DiarizedTranscription, toDiarizedJson } from './diarized-json.ts';
import { segmentOf, transcriptOf } from './fixtures/transcript.ts';
import { toVerboseJson, VerboseTranscription } from './verbose-json.ts';

const Forms = suite("transcripts in the shapes of OpenAI's API");

const hello = segmentOf(' Hello there.', [0, 1.5], {
  speaker: 'A',
  words: [
    [' Hello', 0, 0.5],
    [' there.', 0.5, 1.5],
  ],
});

Forms('verbose_json has what is known', () => {
  const verbose = toVerboseJson(transcriptOf(hello), { duration: 2 });
  assert.equal(verbose, {
    task: 'transcribe',
    language: 'english',
    duration: 2,
    text: 'Hello there.',
    segments: [{ id: 0, start: 0, end: 1.5, text: ' Hello there.', avg_logprob: Math.log(0.5), no_speech_prob: 0.25 }],
    words: [
      { word: 'Hello', start: 0, end: 0.5 },
      { word: 'there.', start: 0.5, end: 1.5 },
    ],
  });
  assert.equal(VerboseTranscription.parse(verbose), verbose);
  assert.is(toVerboseJson(transcriptOf(hello), {}, 'translate').task, 'translate');
});

Forms('verbose_json leaves out what is unknown', () => {
  const unknown = { ...segmentOf(' a', [0, 1]), confidence: 0, no_speech_confidence: null };
  assert.equal(toVerboseJson(transcriptOf(unknown)), {
    task: 'transcribe',
    language: 'english',
    text: 'a',
    segments: [{ id: 0, start: 0, end: 1, text: ' a' }],
  });
  assert.equal(toVerboseJson(transcriptOf()), { task: 'transcribe', language: 'silence', text: '', segments: [] });
});

Forms('diarized_json has the speaker of each segment', () => {
  const diarized = toDiarizedJson(transcriptOf(hello, segmentOf(' Hi.', [2, 3])), { duration: 4 });
  assert.equal(diarized, {
    task: 'transcribe',
    duration: 4,
    text: 'A: Hello there.\nHi.',
    segments: [
      { type: 'transcript.text.segment', id: 'seg_001', start: 0, end: 1.5, text: 'Hello there.', speaker: 'A' },
      { type: 'transcript.text.segment', id: 'seg_002', start: 2, end: 3, text: 'Hi.' },
    ],
  });
  assert.equal(DiarizedTranscription.parse(diarized), diarized);
});

Forms.run();
