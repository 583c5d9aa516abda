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

const Transcribe = suite('transcribe_video');

Transcribe("answers with the deployment's result, including nulls", () => {
  const { output } = runEndpoint(
    endpoint,
    'transcribe_video',
    { video: { path: '/talk.mp4' } },
    transcribing(() => spoken),
  );
  assert.equal(output, spoken);
});

Transcribe('passes the parameters on, and separates channels on request', () => {
  const calls: Call[] = [];
  const fakes = transcribing((call) => (calls.push(call), spoken));
  runEndpoint(
    endpoint,
    'transcribe_video',
    { video: { path: '/a' }, whisper_params: { channels: 'separate', word_timestamps: true } },
    fakes,
  );
  runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' }, whisper_params: null }, fakes);
  assert.is(calls[0]?.audio.channels, 'separate');
  assert.is(calls[0]?.params?.word_timestamps, true);
  assert.is(calls[1]?.audio.channels, 'mix');
  assert.is(calls[1]?.params, undefined);
});

Transcribe('answers a video without an audio track', () => {
  const fakes: FakeHost = {
    video: () => ({ hasAudio: false }),
    ...transcribing(({ audio }) => (assert.is(audio.duration, 0), silence)),
  };
  assert.equal(
    runEndpoint(endpoint, 'transcribe_video', { video: { url: 'https://a.example/b' } }, fakes).output,
    silence,
  );
});

Transcribe('opens uploaded parts, URLs and media ids unchanged', () => {
  const sources: unknown[] = [];
  const fakes: FakeHost = { ...transcribing(() => spoken), video: (source) => (sources.push(source), {}) };
  runEndpoint(endpoint, 'transcribe_video', { video: { content: 'file', media_id: 'm-1', url: null } }, fakes);
  assert.equal(sources, [{ content: 'file', mediaId: 'm-1' }]);
});

Transcribe('fails with the error of the host', () => {
  const fakes: FakeHost = {
    video: () => {
      throw new HostError('VideoReadingException', 'bad-request', 'not a video');
    },
  };
  assert.throws(
    () => runEndpoint(endpoint, 'transcribe_video', { video: { path: '/a' } }, fakes),
    (error: HostError) => error.name === 'VideoReadingException',
  );
});

Transcribe.run();
