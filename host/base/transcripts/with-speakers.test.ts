import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AsrOutput, AsrSegment, SpeakerDiarizationSegment } from '../schemas/index.ts';
import { withSpeakers } from './with-speakers.ts';

/** Returns a segment whose words last a second each, from `start`. */
function spoken(start: number, text: string, facts: Partial<AsrSegment> = {}): AsrSegment {
  const words = text.split(' ').map((word, at) => ({
    word: ` ${word}`,
    speaker: null,
    time_interval: { start: start + at, end: start + at + 1 },
    alignment_confidence: 0.9,
  }));
  return {
    text: ` ${text}`,
    time_interval: { start, end: start + words.length },
    confidence: 0.8,
    no_speech_confidence: 0.1,
    words,
    speaker: null,
    ...facts,
  };
}

const transcriptOf = (...segments: AsrSegment[]): AsrOutput => ({
  segments,
  transcription_info: { language: 'en', language_confidence: 1 },
  transcription: { text: segments.map(({ text }) => text).join('') },
});

const by = (speaker: string, start: number, end: number): SpeakerDiarizationSegment => ({
  speaker,
  time_interval: { start, end },
});

const linesOf = ({ segments }: AsrOutput): string[] =>
  segments.map(({ speaker, text, time_interval: { start, end } }) => `${speaker ?? 'nobody'} ${start}-${end}:${text}`);

const Speakers = suite('withSpeakers');

Speakers('divides a segment where the speaker changes', () => {
  const output = withSpeakers(transcriptOf(spoken(0, 'How are you? Fine, thanks.')), {
    segments: [by('A', 0, 3), by('B', 3, 5)],
  });
  assert.equal(linesOf(output), ['A 0-3: How are you?', 'B 3-5: Fine, thanks.']);
  assert.equal(
    output.segments.map(({ words }) => words.map(({ speaker }) => speaker)),
    [
      ['A', 'A', 'A'],
      ['B', 'B'],
    ],
  );
  assert.is(output.transcription.text, ' How are you? Fine, thanks.');
});

Speakers('gives a word to the speaker who speaks longest during it', () => {
  const output = withSpeakers(transcriptOf(spoken(0, 'Yes. No.')), {
    segments: [by('A', 0, 1.4), by('B', 1.1, 1.2), by('B', 1.4, 3)],
  });
  assert.equal(linesOf(output), ['A 0-1: Yes.', 'B 1-2: No.']);
});

Speakers('gives words in a pause to the speaker before, and the first words to the first speaker', () => {
  const output = withSpeakers(transcriptOf(spoken(0, 'Well. Yes. Hm. No. Oh.')), {
    segments: [by('A', 1, 2), by('B', 3, 4)],
  });
  assert.equal(linesOf(output), ['A 0-3: Well. Yes. Hm.', 'B 3-5: No. Oh.']);
});

Speakers('gives a sentence to the speaker of at least half of its words', () => {
  const speech = { segments: [by('A', 0, 3), by('B', 3, 9)] };
  assert.equal(linesOf(withSpeakers(transcriptOf(spoken(0, 'one two three four. Five.')), speech)), [
    'A 0-4: one two three four.',
    'B 4-5: Five.',
  ]);
  const three = { segments: [by('A', 0, 2), by('B', 2, 4), by('C', 4, 5)] };
  const sentence = transcriptOf(spoken(0, 'one two three four five.'));
  assert.is(withSpeakers(sentence, three).segments.length, 3, 'nobody has half of it');
  const open = transcriptOf(spoken(0, 'one two three four'));
  assert.is(withSpeakers(open, speech).segments.length, 2, 'the sentence does not end');
});

Speakers('knows the ends of sentences in Chinese and before quotation marks', () => {
  const output = withSpeakers(transcriptOf(spoken(0, '你好。 a “Yes.” b')), {
    segments: [by('A', 0, 1), by('B', 1, 4)],
  });
  assert.equal(linesOf(output), ['A 0-1: 你好。', 'B 1-4: a “Yes.” b']);
});

Speakers('leaves the speakers of a sentence of more than 50 words', () => {
  const long = Array.from({ length: 51 }, (_, at) => (at === 50 ? 'end.' : 'word')).join(' ');
  const output = withSpeakers(transcriptOf(spoken(0, long)), { segments: [by('A', 0, 40), by('B', 40, 51)] });
  assert.equal(
    output.segments.map(({ words }) => words.length),
    [40, 11],
  );
});

Speakers('ends a segment with the first sentence that ends after 50 words', () => {
  const text = Array.from({ length: 130 }, (_, at) => (at % 20 === 19 ? 'end.' : 'word')).join(' ');
  const output = withSpeakers(transcriptOf(spoken(0, text)), { segments: [by('A', 0, 130)] });
  assert.equal(
    output.segments.map(({ words }) => words.length),
    [60, 60, 10],
  );
});

Speakers('takes the confidences of the segment that most words come from', () => {
  const output = withSpeakers(
    transcriptOf(spoken(0, 'one', { confidence: 0.2 }), spoken(1, 'two three.', { confidence: 0.7 })),
    { segments: [by('A', 0, 3)] },
  );
  assert.equal(
    output.segments.map(({ confidence }) => confidence),
    [0.7],
  );
});

Speakers('merges neighbours of one speaker and numbers the speakers when asked', () => {
  const text = Array.from({ length: 120 }, (_, at) => (at % 20 === 19 ? 'end.' : 'word')).join(' ');
  const output = withSpeakers(
    transcriptOf(spoken(0, 'Go.'), spoken(1, text), spoken(121, 'Stop.')),
    { segments: [by('SPEAKER_07', 0, 1), by('SPEAKER_03', 1, 121), by('SPEAKER_07', 121, 122)] },
    { merge: true },
  );
  assert.equal(
    output.segments.map(({ speaker, words }) => [speaker, words.length, words.at(-1)?.speaker]),
    [
      ['SPEAKER_00', 1, 'SPEAKER_00'],
      ['SPEAKER_01', 120, 'SPEAKER_01'],
      ['SPEAKER_00', 1, 'SPEAKER_00'],
    ],
  );
  assert.match(output.segments[1]?.text ?? '', /^ word .* end\. word .* end\.$/);
});

Speakers('keeps a segment without words among others, with its speaker', () => {
  const output = withSpeakers(transcriptOf(spoken(0, 'Yes.'), spoken(1, 'No.', { words: [] })), {
    segments: [by('A', 0, 1), by('B', 1, 2)],
  });
  assert.equal(linesOf(output), ['A 0-1: Yes.', 'B 1-2: No.']);
});

Speakers('takes words without length', () => {
  const word = { word: ' Yes.', speaker: null, time_interval: { start: 1, end: 1 }, alignment_confidence: 1 };
  const output = withSpeakers(transcriptOf(spoken(0, 'Yes.', { words: [word] })), {
    segments: [by('A', 0, 0.5), by('B', 0.5, 2)],
  });
  assert.equal(
    output.segments.map(({ speaker }) => speaker),
    ['B'],
  );
});

Speakers(
  'returns the transcript as it is without text, without speech, and when nobody speaks during its words',
  () => {
    const transcript = transcriptOf(spoken(0, 'Yes.'));
    assert.is(withSpeakers(transcript, { segments: [] }), transcript);
    assert.is(withSpeakers(transcript, { segments: [by('A', 5, 6)] }), transcript);
    const empty = transcriptOf();
    assert.is(withSpeakers(empty, { segments: [by('A', 0, 1)] }), empty);
  },
);

Speakers('refuses a transcript without words, and says how to get them', () => {
  const transcript = transcriptOf(spoken(0, 'Yes.', { words: [] }));
  assert.throws(() => withSpeakers(transcript, { segments: [by('A', 0, 1)] }), /word_timestamps: true/);
});

Speakers('does not change its arguments', () => {
  const transcript = transcriptOf(spoken(0, 'How are you? Fine.'));
  const before = structuredClone(transcript);
  withSpeakers(transcript, { segments: [by('A', 0, 3), by('B', 3, 4)] }, { merge: true });
  assert.equal(transcript, before);
});

Speakers.run();
