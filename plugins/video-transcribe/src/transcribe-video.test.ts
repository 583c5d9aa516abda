import { type AsrOutput, HostError, type WhisperParams } from 'aana-host/plugin';
import { type FakeAudio, type FakeHost, runEndpoint } from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';

const spoken: AsrOutput = {
  segments: [
    {
      text: ' Hello there.',
      time_interval: { start: 0, end: 1.5 },
      confidence: 0.9,
      no_speech_confidence: null,
      words: [],
      speaker: null,
    },
  ],
  transcription_info: { language: 'en', language_confidence: 0.99 },
  transcription: { text: ' Hello there.' },
};
const silence: AsrOutput = {
  segments: [],
  transcription_info: { language: 'silence', language_confidence: 1 },
  transcription: { text: '' },
};

type Call = { audio: FakeAudio; params?: WhisperParams };
const transcribing = (transcribe: (call: Call) => unknown): FakeHost => ({
  deployments: { asr_deployment: { transcribe } },
});

async function failure(run: Promise<unknown>): Promise<HostError> {
  try {
    await run;
  } catch (error) {
    assert.instance(error, HostError);
    return error as HostError;
  }
  throw new Error('it did not fail');
}

const Transcribe = suite('transcribe_video');

Transcribe("answers with the deployment's result, including nulls", async () => {
  const { output } = await runEndpoint(
    endpoint,
    'transcribe_video',
    { video: { path: '/talk.mp4' } },
    transcribing(() => spoken),
  );
  assert.equal(output, spoken);
});

Transcribe('passes the parameters on, and separates channels on request', async () => {
  const calls: Call[] = [];
  const fakes = transcribing((call) => (calls.push(call), spoken));
  await runEndpoint(
    endpoint,
    'transcribe_video',
    { video: { path: '/a' }, whisper_params: { channels: 'separate', word_timestamps: true } },
    fakes,
  );
  await runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' }, whisper_params: null }, fakes);
  assert.is(calls[0]?.audio.channels, 'separate');
  assert.is(calls[0]?.params?.word_timestamps, true);
  assert.is(calls[1]?.audio.channels, 'mix');
  assert.is(calls[1]?.params, undefined);
});

const words = [
  { word: ' Hello', speaker: null, time_interval: { start: 0, end: 0.5 }, alignment_confidence: 0.9 },
  { word: ' there.', speaker: null, time_interval: { start: 0.5, end: 1.5 }, alignment_confidence: 0.9 },
];
const withWords: AsrOutput = { ...spoken, segments: spoken.segments.map((segment) => ({ ...segment, words })) };
const answered = async (input: object, given = spoken): Promise<unknown> => {
  const { output } = await runEndpoint(
    endpoint,
    'transcribe_video',
    { video: { path: '/a' }, ...input },
    transcribing(() => given),
  );
  return output;
};

Transcribe('answers in each format', async () => {
  assert.equal(await answered({ format: 'json' }), spoken);
  assert.equal(await answered({ format: null }), spoken);
  assert.equal(await answered({ format: 'text' }), { media_type: 'text/plain', text: 'Hello there.\n' });
  assert.equal(await answered({ format: 'srt' }), {
    media_type: 'application/x-subrip',
    text: '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n',
  });
  assert.equal(await answered({ format: 'vtt' }), {
    media_type: 'text/vtt',
    text: 'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n',
  });
  assert.equal(await answered({ format: 'tsv' }), {
    media_type: 'text/tab-separated-values',
    text: 'start\tend\ttext\n0\t1500\tHello there.\n',
  });
  assert.equal(await answered({ format: 'verbose_json' }), {
    task: 'transcribe',
    language: 'english',
    duration: 10,
    text: 'Hello there.',
    segments: [{ id: 0, start: 0, end: 1.5, text: ' Hello there.', avg_logprob: Math.log(0.9) }],
  });
  const separate = { whisper_params: { channels: 'separate' } };
  const speaker = { ...spoken, segments: spoken.segments.map((segment) => ({ ...segment, speaker: '0' })) };
  assert.equal(await answered({ format: 'diarized_json', ...separate }, speaker), {
    task: 'transcribe',
    duration: 10,
    text: '0: Hello there.',
    segments: [
      { type: 'transcript.text.segment', id: 'seg_001', start: 0, end: 1.5, text: 'Hello there.', speaker: '0' },
    ],
  });
});

Transcribe('asks for the times of words where subtitles need them', async () => {
  const asked = async (input: object): Promise<unknown> => {
    const calls: Call[] = [];
    const fakes = transcribing((call) => (calls.push(call), withWords));
    await runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' }, ...input }, fakes);
    return calls[0]?.params?.word_timestamps;
  };
  assert.is(await asked({ format: 'srt', highlight_words: true }), true);
  assert.is(
    await asked({ format: 'vtt', max_line_width: 9, max_line_count: 1, whisper_params: { beam_size: 2 } }),
    true,
  );
  assert.is(await asked({ format: 'vtt', max_line_width: 9, highlight_words: false }), undefined);
  assert.match(
    ((await answered({ format: 'vtt', highlight_words: true, max_line_width: 6 }, withWords)) as { text: string }).text,
    '<u>Hello</u>\nthere.',
  );
});

Transcribe('answers with embedded subtitles where they are asked for', async () => {
  const subtitles = '1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i> there,\n\n2\n00:00:03,000 --> 00:00:04,000\nyou.\n';
  const hears = transcribing(() => assert.unreachable('the speech was transcribed'));
  const given = async (form: object): Promise<unknown> => {
    const input = { video: { path: '/a' }, subtitles: true, ...form };
    const fakes: FakeHost = { video: () => ({ subtitles, duration: 5 }), ...hears };
    return (await runEndpoint(endpoint, 'transcribe_video', input, fakes)).output;
  };
  const { segments, ...rest } = (await given({})) as AsrOutput;
  assert.equal(
    segments.map(({ text, time_interval: { start, end } }) => [text.trim(), start, end]),
    [
      ['Hello there,', 1, 2.5],
      ['you.', 3, 4],
    ],
  );
  assert.equal(rest, {
    transcription_info: { language: '', language_confidence: 0 },
    transcription: { text: ' Hello there, you.' },
  });
  assert.equal(await given({ format: 'vtt' }), {
    media_type: 'text/vtt',
    text: 'WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nHello there,\n\n00:00:03.000 --> 00:00:04.000\nyou.\n',
  });
  const { duration, text } = (await given({ format: 'verbose_json' })) as { duration: number; text: string };
  assert.equal([duration, text], [5, 'Hello there, you.']);
});

const REFUSED: readonly [input: object, loc: readonly string[]][] = [
  [{ format: 'subtitles' }, ['format']],
  [{ format: 5 }, ['format']],
  [{ format: ['srt'] }, ['format']],
  [{ format: '__proto__' }, ['format']],
  [{ format: 'diarized_json' }, ['format']],
  ...[0, -1, 1e9, 1.5, 'NaN', true, []].flatMap((value): [object, string[]][] => [
    [{ format: 'srt', max_line_width: value }, ['max_line_width']],
    [{ format: 'vtt', max_line_width: 9, max_line_count: value }, ['max_line_count']],
  ]),
  [{ format: 'vtt', highlight_words: 'yes' }, ['highlight_words']],
  [{ format: 'vtt', max_line_count: 2 }, ['max_line_count']],
  [{ format: 'tsv', max_line_width: 9 }, ['max_line_width']],
  [{ highlight_words: true }, ['highlight_words']],
  [{ max_words: 1 }, ['max_words']],
  [{ subtitles: 'yes' }, ['subtitles']],
  [{ subtitles: true, whisper_params: { language: 'en' } }, ['whisper_params']],
  [{ subtitles: true, format: 'vtt', highlight_words: true }, ['subtitles']],
];
for (const [input, loc] of REFUSED)
  Transcribe(`refuses ${JSON.stringify(input)} before it opens the video`, async () => {
    const fakes: FakeHost = { video: () => (assert.unreachable('the video was opened'), {}) };
    const error = await failure(runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' }, ...input }, fakes));
    assert.is(error.name, 'ValidationError');
    assert.equal(
      (error.data as { loc: unknown }[]).map((entry) => entry.loc),
      [loc],
    );
  });

Transcribe('answers a video without an audio track', async () => {
  const fakes: FakeHost = {
    video: () => ({ hasAudio: false }),
    ...transcribing(({ audio }) => (assert.is(audio.duration, 0), silence)),
  };
  assert.equal(
    (await runEndpoint(endpoint, 'transcribe_video', { video: { url: 'https://a.example/b' } }, fakes)).output,
    silence,
  );
});

Transcribe('opens uploaded parts, URLs and media ids unchanged', async () => {
  const sources: unknown[] = [];
  const fakes: FakeHost = { ...transcribing(() => spoken), video: (source) => (sources.push(source), {}) };
  await runEndpoint(endpoint, 'transcribe_video', { video: { content: 'file', media_id: 'm-1', url: null } }, fakes);
  assert.equal(sources, [{ content: 'file', mediaId: 'm-1' }]);
});

Transcribe('fails with the error of the host', async () => {
  const fakes: FakeHost = {
    video: () => {
      throw new HostError('VideoReadingException', 'bad-request', 'not a video');
    },
  };
  const { name } = await failure(runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' } }, fakes));
  assert.is(name, 'VideoReadingException');
});

Transcribe.run();
