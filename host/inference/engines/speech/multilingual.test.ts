// A real multilingual model with speech in two languages.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentManager } from '../../deployments/index.ts';
import { AsrOutput, type AudioReference } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { Voice } from '../../../test/helpers/media/conversations.ts';
import { skip } from '../../../test/skip.ts';
import { deployed, SampleFiles, voicesForWhisper } from '../fixtures/real-models.ts';

const Multilingual = suite('speech in several languages');

const files = new SampleFiles();
const folder = mkdtempSync(join(tmpdir(), 'aana-multilingual-'));
let manager: DeploymentManager;
let audio: AudioReference;

/** English for 11 seconds, a pause, and Chinese for 6 seconds. */
async function twoLanguages(voices: ReadonlyMap<Voice, Float32Array>): Promise<AudioReference> {
  const [english, chinese] = [voices.get('kennedy')!, voices.get('chinese')!];
  const parts = [english, new Float32Array(32_000), chinese];
  return await files.write(Float32Array.from(parts.flatMap((part) => [...part])));
}

/** The cheapest search. A text in the wrong language is unlikely, and would be looked for at further temperatures. */
const GREEDY = { beam_size: 1, temperature: 0 };
/** For tests that do not read the text. */
const SHORT = { ...GREEDY, without_timestamps: true, max_new_tokens: 5 };
/** The audio is cut at the pause. */
const CUT = { ...GREEDY, chunk_length: 12 };

const transcribe = async (params: object): Promise<AsrOutput> =>
  AsrOutput.parse(await manager.handle('model').call('transcribe', { audio, params }));

Multilingual.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'base', threads: 1 } });
  await manager.start();
});
Multilingual.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
  rmSync(folder, { recursive: true });
});

Multilingual('has a language for each part if asked, and is written in it', async () => {
  const { segments, transcription_info: info } = await transcribe({ ...CUT, multilingual: true });
  const spoken = segments.map(({ language, time_interval: { start } }) => [language, start < 12]);
  assert.ok(spoken.length > 1 && spoken.every(([language, isFirst]) => language === (isFirst ? 'en' : 'zh')));
  const textOf = (wanted: string): string =>
    segments.map(({ language, text }) => (language === wanted ? text : '')).join('');
  assert.match(textOf('en'), /fellow Americans/);
  assert.match(textOf('zh'), /\p{Script=Han}/u);
  assert.not.match(textOf('zh'), /[a-z]/i);
  assert.is(info.language, 'en', 'the language of most of the time');
});

Multilingual('has the language of the first part without being asked', async () => {
  const { segments, transcription_info: info, transcription } = await transcribe(CUT);
  assert.is(info.language, 'en');
  assert.not.match(transcription.text, /\p{Script=Han}/u);
  assert.ok(segments.every((segment) => !('language' in segment)));
});

Multilingual('streams segments with their language', async () => {
  const values: AsrOutput[] = [];
  for await (const batch of manager
    .handle('model')
    .stream('transcribe_stream', { audio, params: { ...CUT, multilingual: true } }))
    values.push(...batch.map((value) => AsrOutput.parse(value)));
  const last = values.pop();
  assert.equal([last?.segments, last?.transcription_info.language], [[], 'en']);
  for (const { segments, transcription_info: info } of values) assert.is(segments[0]?.language, info.language);
  assert.is(values.at(-1)?.transcription_info.language, 'zh');
});

Multilingual('tells the probabilities of all languages if asked', async () => {
  const start = { ...SHORT, clip_timestamps: '0,5' };
  const { transcription_info: info } = await transcribe({ all_language_probs: true, ...start });
  const all = info.all_language_probs ?? [];
  assert.equal(all[0], { language: 'en', probability: info.language_confidence });
  assert.ok(all.length > 90 && all.every(({ probability }, at) => probability <= (all[at - 1]?.probability ?? 1)));
  assert.ok(Math.abs(all.reduce((sum, { probability }) => sum + probability, 0) - 1) < 1e-3);
  const known = await transcribe({ all_language_probs: true, language: 'en', ...start });
  assert.equal(known.transcription_info, { language: 'en', language_confidence: 1 });
});

Multilingual('asks several parts for their language where none is sure', async () => {
  // English, and the same Chinese twice. No part is surer than 1.
  const clips = { ...SHORT, clip_timestamps: [0, 5, 13, 18, 13, 18], language_detection_threshold: 1 };
  const all = await transcribe({ ...clips, language_detection_segments: 9 });
  assert.is(all.transcription_info.language, 'zh');
  const two = await transcribe({ ...clips, language_detection_segments: 2, condition_on_previous_text: true });
  assert.is(two.transcription_info.language, 'en');
  for (const { segments } of [all, two])
    assert.ok(
      segments[0]!.time_interval.start < 5 && segments.at(-1)!.time_interval.start >= 13,
      'all parts have text',
    );
});

Multilingual('excludes the choice of a language', async () => {
  const error = await errorOf(transcribe({ multilingual: true, language: 'en' }));
  assert.is(error.kind, 'invalid-input');
  assert.match(error.message, /^params\.multilingual: .*leave out/);
  const other = await errorOf(transcribe({ multilingual: true, all_language_probs: true }));
  assert.match(other.message, /^params\.all_language_probs: .*each part has its own language/);
});

const voices = await voicesForWhisper(folder);
if (typeof voices === 'string') {
  skip('speech in several languages', voices);
  rmSync(folder, { recursive: true });
} else {
  audio = await twoLanguages(voices);
  Multilingual.run();
}
