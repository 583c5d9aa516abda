// Transcriptions through Vercel's AI SDK, which checks answers by schemas of its own.
import { readFile } from 'node:fs/promises';
import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import { APICallError, experimental_transcribe as transcribe } from 'ai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';

const Vercel = suite('transcriptions with Vercel’s AI SDK');
let at: AudioApp;
let openai: OpenAIProvider;
let audio: Uint8Array;

Vercel.before(async () => {
  audio = await readFile(speechPath());
  at = await startAudioApp();
  openai = createOpenAI({ baseURL: `${at.url}/v1`, apiKey: 'none' });
});
Vercel.after(async () => at?.[Symbol.asyncDispose]());

const ask = (options: Record<string, string | number | string[]> | undefined, content = audio, model = 'whisper-1') =>
  transcribe({
    model: openai.transcription(model),
    audio: content,
    maxRetries: 0,
    ...(options && { providerOptions: { openai: options } }),
  });

Vercel('have the text and the length', async () => {
  const { text, durationInSeconds, warnings } = await ask(undefined);
  assert.is(wordErrors(SAMPLE_TEXT, text), 0, text);
  assert.equal([durationInSeconds, warnings], [11, []]);
});

Vercel('have segments or words, and the language', async () => {
  const bySegment = await ask({ language: 'en', temperature: 0, prompt: 'A speech.' });
  assert.is(bySegment.language, 'en');
  assert.is(
    bySegment.segments
      .map(({ text }) => text)
      .join('')
      .trim(),
    bySegment.text,
  );
  const byWord = await ask({ timestampGranularities: ['word'] });
  assert.is(byWord.segments.map(({ text }) => text).join(' '), byWord.text);
  assert.ok(byWord.segments.every(({ startSecond, endSecond }) => startSecond <= endSecond));
});

Vercel('fail with the errors of OpenAI’s API', async () => {
  const failure = async (work: Promise<unknown>): Promise<[status: number | undefined, message: string]> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!APICallError.isInstance(error)) throw error ?? new Error('it did not fail');
    return [error.statusCode, error.message];
  };
  const [status, message] = await failure(ask(undefined, new Uint8Array(100)));
  assert.is(status, 400, message);
  const [missing, names] = await failure(ask(undefined, audio, 'whisper-2'));
  assert.is(missing, 404);
  assert.match(names, /"whisper-2" does not exist: the models are asr, whisper-1/);
});

if (cannotRun !== undefined) skip('transcriptions with Vercel’s AI SDK', cannotRun);
else Vercel.run();
