// Translations with the official client against a real model that knows many languages.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { WhisperDeployment } from 'aana-host';
import { ModelStore } from '../../../setup/models/index.ts';
import { conversation, voiceSamples } from '../../../test/helpers/media/conversations.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Translations = suite('translations with the official client');
const folder = await mkdtemp(join(tmpdir(), 'aana-translations-'));
let at: OpenAiApp;
let chinese: File;

Translations.before(async () => {
  at = await startOpenAiApp({
    config: { media: { ffmpeg_path: ffmpegPath() } },
    prepare: (app) => {
      app.registerDeployment('asr', WhisperDeployment.options({ user_config: { model_size: 'base', threads: 1 } }));
    },
  });
});
Translations.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

Translations('are English text', async () => {
  const verbose = (await at.client.audio.translations.create({
    ...{ file: chinese, model: 'asr', prompt: 'A talk.', temperature: 0, response_format: 'verbose_json' as const },
  })) as OpenAI.Audio.TranslationVerbose;
  assert.is(verbose.language, 'english');
  assert.match(verbose.text, /^[\x20-\x7e]*[a-z]{3,}[\x20-\x7e]*$/);
  assert.ok(verbose.duration > 1 && verbose.segments!.length > 0);
});

Translations('are subtitles, too', async () => {
  const srt = (await at.client.audio.translations.create({
    ...{ file: chinese, model: 'asr', response_format: 'srt' as const },
  })) as unknown;
  assert.match(String(srt), /^1\n00:00:0\d,\d{3} --> [^\n]*\n[\x20-\x7e]+\n/);
});

Translations('of the same file are not its transcription', async () => {
  const { text } = await at.client.audio.transcriptions.create({ file: chinese, model: 'asr', language: 'zh' });
  assert.match(text, /\p{Script=Han}/u);
});

const models = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger, offline: true });
const missing = (await models.resolve('whisper-base:q8_0')) === undefined;
const voices = cannotRun ?? (missing ? 'the model whisper-base is not on this machine' : await voiceSamples(folder));
if (typeof voices === 'string') {
  skip('translations with the official client', voices);
  await rm(folder, { recursive: true });
} else {
  const { samples } = conversation(voices, [['chinese', 0]]);
  const raw = join(folder, 'chinese.f32');
  await writeFile(raw, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  const input = ['-f', 'f32le', '-ar', '16000', '-ac', '1', '-i', raw];
  chinese = await toFile(await readFile(await makeMedia(ffmpegPath(), join(folder, 'chinese.wav'), ...input)), 'a.wav');
  Translations.run();
}
