import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsrOutput } from '../../base/schemas/index.ts';
import { combineInfo, mainLanguage, silence, toOutput, toSegment } from './asr-output.ts';

const Output = suite('the answer of a transcription');

const native = {
  text: ' Hello.',
  start: 0.5,
  end: 1.25,
  averageLogProbability: -0.5,
  noSpeechProbability: 0.01,
  words: [],
};

Output('gives each segment the exponential of its mean log probability as its confidence', () => {
  assert.is(toSegment(native, null).confidence, Math.exp(-0.5));
});

Output('keeps confidences between 0 and 1', () => {
  assert.is(toSegment({ ...native, averageLogProbability: 0.1 }, null).confidence, 1);
  assert.is(toSegment({ ...native, averageLogProbability: -Infinity }, null).confidence, 0);
  assert.is(toSegment({ ...native, noSpeechProbability: Number.NaN }, null).no_speech_confidence, 0);
});

Output('names the speaker of a segment and of its words', () => {
  const word = { word: ' Hello.', start: 0.5, end: 1, probability: 0.9 };
  const segment = toSegment({ ...native, words: [word] }, 'CHANNEL_01');
  assert.equal([segment.speaker, segment.words[0]?.speaker], ['CHANNEL_01', 'CHANNEL_01']);
});

Output('has the language in which most of the time is spoken', () => {
  const of = (language: string, start: number, end: number, languageProbability: number) => ({
    ...{ ...native, start, end, language, languageProbability },
  });
  const segments = [of('de', 0, 2, 0.5), of('en', 2, 5, 1), of('de', 5, 7, 0.75)];
  assert.equal(mainLanguage(segments), { language: 'de', language_confidence: 0.625 });
  assert.is(toSegment(segments[1]!, null).language, 'en');
  assert.is(mainLanguage([native]), undefined);
  assert.not.ok('language' in toSegment(native, null));
});

Output('joins the texts of the segments with their leading spaces', () => {
  const output = toOutput([toSegment(native, null), toSegment({ ...native, text: ' World.' }, null)], {
    language: 'en',
    language_confidence: 1,
  });
  assert.is(output.transcription.text, ' Hello. World.');
});

Output('matches the schema, with and without speech', () => {
  const output = toOutput([toSegment(native, null)], { language: 'en', language_confidence: 1 });
  assert.equal(AsrOutput.parse(output), output);
  assert.equal(AsrOutput.parse(silence()), {
    segments: [],
    transcription_info: { language: 'silence', language_confidence: 1 },
    transcription: { text: '' },
  });
});

Output('has the mean confidence if all channels are in one language, else the most confident language', () => {
  const english = (language_confidence: number) => ({ language: 'en', language_confidence });
  assert.equal(combineInfo([english(0.5), english(1)]), english(0.75));
  assert.equal(combineInfo([english(0.5), { language: 'de', language_confidence: 0.6 }]), {
    language: 'de',
    language_confidence: 0.6,
  });
  assert.equal(combineInfo([]), { language: 'silence', language_confidence: 1 });
});

Output.run();
