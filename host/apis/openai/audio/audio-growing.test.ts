// Transcriptions over HTTP, with a real model, of audio that is still being decoded.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { WhisperDeployment } from 'aana-host';
import { ffmpegPath, longSpeech } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { pathsBelow } from '../../http/fixtures/eventually.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Growing = suite('transcriptions of audio that is being decoded');
const folder = mkdtempSync(join(tmpdir(), 'aana-growing-'));
const tempDir = join(folder, 'temp');
const pidFile = join(folder, 'pid');
const quick = join(folder, 'quick');
let at: OpenAiApp;
let talk: File;

/** Seconds of the recording that the decoder of the tests reads at once. It reads the others only as they pass. */
const BURST_S = 40;

Growing.before(async () => {
  talk = await recording(20);
  const decoder = join(folder, 'slow-ffmpeg');
  writeFileSync(
    decoder,
    `#!/bin/sh
case "$*" in *f32le*) ;; *) exec '${ffmpegPath()}' "$@";; esac
[ -e '${quick}' ] && exec '${ffmpegPath()}' "$@"
echo $$ > '${pidFile}'
exec '${ffmpegPath()}' -readrate 1 -readrate_initial_burst ${BURST_S} "$@"
`,
  );
  chmodSync(decoder, 0o700);
  at = await startOpenAiApp({
    config: { media: { ffmpeg_path: decoder, temp_dir: tempDir } },
    prepare: (app) => {
      app.registerDeployment('asr', WhisperDeployment.options({ user_config: { model_size: 'tiny.en', threads: 1 } }));
    },
  });
});
Growing.before.each(() => rmSync(quick, { force: true }));
Growing.after(async () => {
  await at?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const decoderPid = (): number => Number(readFileSync(pidFile, 'utf8'));
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
function endDecoder(): void {
  if (isRunning(decoderPid())) process.kill(decoderPid(), 'SIGKILL');
}
const tempFiles = (extension: string): string[] => pathsBelow(tempDir).filter((name) => name.endsWith(extension));
const recording = async (times: number): Promise<File> => toFile(await longSpeech(times), 'talk.webm');

Growing('send the first text while the decoder runs, and stop it when the client leaves', async () => {
  const leaving = new AbortController();
  const events = await at.client.audio.transcriptions.create(
    { file: talk, model: 'asr', stream: true },
    { signal: leaving.signal },
  );
  for await (const event of events) {
    if (event.type !== 'transcript.text.delta') continue;
    assert.match(event.delta, /\w/);
    break;
  }
  assert.ok(isRunning(decoderPid()), 'minutes of audio are not decoded yet');
  assert.equal(tempFiles('.end'), []);
  assert.is(tempFiles('.f32').length, 1);
  leaving.abort();
  while (isRunning(decoderPid()) || tempFiles('.f32').length > 0) await delay(10);
});

Growing('are those of the decoded audio', async () => {
  const file = await recording(4);
  // The text repeats itself, and would be looked for at further temperatures.
  const request = { file, model: 'asr', response_format: 'verbose_json', temperature: 0 } as const;
  const ask = () => at.client.audio.transcriptions.create(request);
  const growing = await ask();
  assert.ok(existsSync(pidFile));
  rmSync(pidFile);
  writeFileSync(quick, '');
  assert.equal(growing, await ask());
  assert.not(existsSync(pidFile), 'the second request had the quick decoder');
  assert.is(Math.round(Number(growing.duration)), 44);
});

Growing('fail with the error of the decoder', async () => {
  const events = await at.client.audio.transcriptions.create({ file: talk, model: 'asr', stream: true });
  let message = '';
  try {
    for await (const event of events) if (event.type === 'transcript.text.delta') endDecoder();
  } catch (error) {
    message = String(error);
  }
  assert.match(message, 'the audio track cannot be decoded');
});

if (cannotRun === undefined) {
  Growing.run();
} else {
  skip('transcriptions of audio that is being decoded', cannotRun);
  rmSync(folder, { recursive: true });
}
