// Transcriptions and translations with the official client against real models over a real socket.
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { APIError, BadRequestError, NotFoundError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath, SAMPLE_TEXT, speakingVideo, speechPath } from '../../../test/helpers/media/media.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';

const Audio = suite('transcriptions with the official client');
const model = 'whisper-1';
/** Seconds of the speech sample, as `usage` has them. */
const USAGE = { type: 'duration', seconds: 11 } as const;
let at: AudioApp;
let client: OpenAI;

Audio.before(async () => {
  at = await startAudioApp();
  client = at.client;
});
Audio.after(async () => at?.[Symbol.asyncDispose]());

const speech = (): ReturnType<typeof createReadStream> => createReadStream(speechPath());
type Params = Partial<OpenAI.Audio.TranscriptionCreateParams>;
const transcribe = (params: Params = {}): Promise<unknown> =>
  client.audio.transcriptions.create({
    file: speech(),
    model,
    ...params,
  } as OpenAI.Audio.TranscriptionCreateParamsNonStreaming);

function checkText(text: string): void {
  assert.is(wordErrors(SAMPLE_TEXT, text), 0, text);
  assert.is(text, text.trim());
}

async function failure(promise: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  const result = await promise.then(
    (value) => new Error(`it answered ${JSON.stringify(value).slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  if (result instanceof APIError) return result;
  throw result;
}

Audio('a stream, a buffer and a video are transcribed', async () => {
  const answer = await client.audio.transcriptions.create({ file: speech(), model });
  checkText(answer.text);
  assert.equal(answer.usage, USAGE);
  const buffer = await toFile(await readFile(speechPath()), 'speech.flac', { type: 'audio/flac' });
  assert.is((await client.audio.transcriptions.create({ file: buffer, model: 'asr' })).text, answer.text);
  const video = await toFile(await speakingVideo(), 'speech.mp4');
  checkText((await client.audio.transcriptions.create({ file: video, model })).text);
});

Audio('the default track is transcribed, or the one that the caller chooses', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-tracks-'));
  const silence = ['-f', 'lavfi', '-t', '11', '-i', 'anullsrc=r=16000:cl=mono'];
  const tracks = ['-map', '0:a', '-map', '1:a', '-disposition:a:0', 'default', '-disposition:a:1', '0'];
  const path = await makeMedia(ffmpegPath(), join(folder, 'tracks.mkv'), ...silence, '-i', speechPath(), ...tracks);
  const heard = async (params: object): Promise<string> => {
    const file = await toFile(await readFile(path), 'tracks.mkv');
    return ((await transcribe({ file, ...params })) as { text: string }).text;
  };
  assert.is(await heard({}), '');
  checkText(await heard({ audio_track: 1 }));
  const error = await failure(heard({ audio_track: 2 }));
  assert.equal([error.status, error.param], [400, 'file']);
  assert.match(error.message, /the file has no audio track 2; its audio tracks are 0 \(default\), 1/);
  rmSync(folder, { recursive: true });
});

Audio('forms that are text are plain text, and parameters without effect are named', async () => {
  const text = String(await transcribe({ response_format: 'text' }));
  checkText(text.slice(0, -1));
  assert.is(text.at(-1), '\n');
  assert.match(
    String(await transcribe({ response_format: 'srt' })),
    /^1\n00:00:0\d,\d{3} --> 00:00:\d\d,\d{3}\nAnd so/,
  );
  const { data, response } = await client.audio.transcriptions
    .create({ file: speech(), model, response_format: 'vtt', seed: 7, top_p: 1, top_k: 5, nonsense: 'x' } as never)
    .withResponse();
  assert.match(String(data), /^WEBVTT\n\n00:00:0\d\.\d{3} --> 00:00:\d\d\.\d{3}\nAnd so/);
  assert.is(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'seed, top_k, nonsense');
});

Audio('verbose_json has the times that the request asks for', async () => {
  const verbose = (granularities?: ('word' | 'segment')[]): Promise<OpenAI.Audio.TranscriptionVerbose> =>
    client.audio.transcriptions.create({
      file: speech(),
      model,
      response_format: 'verbose_json',
      ...(granularities && { timestamp_granularities: granularities }),
    });
  const usual = await verbose();
  checkText(usual.text);
  assert.equal([usual.language, usual.usage, usual.words], ['english', USAGE, undefined]);
  assert.ok(Math.abs(usual.duration - 11) < 0.1);
  assert.ok(usual.segments!.length > 0);
  for (const { avg_logprob: mean, compression_ratio: ratio, seek, start, temperature, tokens } of usual.segments!) {
    assert.ok(mean < 0 && ratio > 0.5 && ratio < 2.4 && Math.abs(seek - start * 100) <= 0.5);
    assert.is(temperature, 0);
    assert.ok(tokens.length > 5 && tokens.every((token) => token >= 0 && token < 50_256));
  }
  const words = await verbose(['word']);
  assert.is(words.segments, undefined);
  assert.equal(words.words!.map(({ word }) => word).join(' '), words.text);
  assert.ok(words.words!.every(({ start, end }) => start <= end && end <= words.duration));
});

Audio('a stream has the deltas of the text, and then the text', async () => {
  let deltas = '';
  let done: string | undefined;
  for await (const event of await client.audio.transcriptions.create({ file: speech(), model, stream: true })) {
    assert.is(done, undefined, 'nothing follows the text');
    if (event.type === 'transcript.text.delta') deltas += event.delta;
    else if (event.type === 'transcript.text.done') done = event.text;
  }
  checkText(deltas);
  assert.is(done, deltas);
});

Audio('the tokens of the text are told, as a whole and in a stream', async () => {
  type Logprobs = OpenAI.Audio.Transcription['logprobs'];
  const textOf = (logprobs: Logprobs): string => Buffer.from(logprobs!.flatMap(({ bytes }) => bytes!)).toString();
  const include = ['logprobs' as const];
  const { text, logprobs } = await client.audio.transcriptions.create({ file: speech(), model, include });
  assert.is(textOf(logprobs), text);
  assert.ok(logprobs!.every(({ token, logprob }) => token !== undefined && logprob! <= 0));
  for await (const event of await client.audio.transcriptions.create({
    file: speech(),
    model,
    include,
    stream: true,
  })) {
    if (event.type === 'transcript.text.delta') assert.is(textOf(event.logprobs), event.delta);
    if (event.type === 'transcript.text.done') assert.equal([event.text, event.logprobs], [text, logprobs]);
  }
  assert.not.ok('logprobs' in (await client.audio.transcriptions.create({ file: speech(), model })));
});

Audio('prompts, hot words, a temperature and the voice filter reach the model', async () => {
  const spelled = (await transcribe({ prompt: 'Speech of MR KENNEDY: MY FELLOW AMERICANS' })) as { text: string };
  assert.is(wordErrors(SAMPLE_TEXT, spelled.text), 0, spelled.text);
  const more = {
    language: 'en',
    temperature: 0.2,
    hotwords: 'country',
    vad_filter: false,
    chunking_strategy: { type: 'server_vad' },
  };
  checkText(((await transcribe(more as Params)) as { text: string }).text);
  checkText(
    ((await transcribe({ temperature: 0, chunking_strategy: { type: 'server_vad' } })) as { text: string }).text,
  );
});

Audio('a chunking strategy says how speech is found', async () => {
  const heard = async (
    chunking_strategy: NonNullable<Params['chunking_strategy']>,
  ): Promise<OpenAI.Audio.TranscriptionVerbose> =>
    (await transcribe({ chunking_strategy, response_format: 'verbose_json' })) as OpenAI.Audio.TranscriptionVerbose;
  const all = { type: 'server_vad', threshold: 0.3, prefix_padding_ms: 300, silence_duration_ms: 500 } as const;
  checkText((await heard(all)).text);
  checkText((await heard('auto')).text);
  assert.is((await heard({ type: 'server_vad', threshold: 1 })).text, '', 'no voice is so likely');
});

Audio('errors are the typed exceptions of the client', async () => {
  const cases: [more: Params, param: string, message: RegExp][] = [
    [{ temperature: 2 }, 'temperature', /./],
    [{ temperature: 'warm' as never }, 'temperature', /number/],
    [{ language: 'klingon' }, 'language', /"klingon" is not a language that Whisper knows/],
    [{ response_format: 'xml' as never }, 'response_format', /srt/],
    [{ stream: 'maybe' as never }, 'stream', /boolean/],
    [{ stream: true, response_format: 'srt' }, 'response_format', /a stream has the forms/],
    [{ timestamp_granularities: ['word'] }, 'timestamp_granularities', /verbose_json/],
    [
      { response_format: 'verbose_json', timestamp_granularities: ['hour' as never] },
      'timestamp_granularities[0]',
      /word/,
    ],
    [{ known_speaker_names: ['ada'] }, 'known_speaker_names', /diarized_json/],
    [{ include: ['logprobs'], response_format: 'verbose_json' }, 'include', /json/],
    [{ include: ['words' as never] }, 'include[0]', /logprobs/],
    [
      { chunking_strategy: { type: 'server_vad', threshold: 2 } },
      'chunking_strategy.threshold',
      /less than or equal to 1/,
    ],
    [{ chunking_strategy: { type: 'server_vad', prefix_padding_ms: -1 } }, 'chunking_strategy.prefix_padding_ms', /0/],
    [
      { chunking_strategy: { type: 'server_vad', threshold: 0.3 }, vad_filter: false } as Params,
      'chunking_strategy',
      /because `vad_filter` is false/,
    ],
    [{ chunking_strategy: { type: 'manual' as never } }, 'chunking_strategy', /./],
    [{ prompt: 'x'.repeat(4001) }, 'prompt', /4000/],
    [
      { response_format: 'diarized_json' },
      'response_format',
      /add speaker diarization \(SpeakerDiarizationDeployment\)/,
    ],
  ];
  for (const [more, param, message] of cases) {
    const error = await failure(transcribe(more));
    assert.instance(error, BadRequestError, JSON.stringify(more));
    assert.equal([error.type, error.param], ['invalid_request_error', param], error.message);
    assert.match(error.message, message);
  }
  const other = await failure(transcribe({ model: 'tiny' }));
  assert.instance(other, NotFoundError);
  assert.equal([other.code, other.param], ['model_not_found', 'model']);
  assert.match(other.message, /tiny, which cannot do transcriptions: the models are asr, whisper-1/);
});

Audio('a model for English cannot translate', async () => {
  const error = await failure(client.audio.translations.create({ file: speech(), model }));
  assert.instance(error, BadRequestError);
  assert.is(error.param, 'model');
  assert.match(error.message, /knows only English/);
});

if (cannotRun !== undefined) skip('transcriptions with the official client', cannotRun);
else Audio.run();
