import { type AsrOutput, type HostError, type SpeakerDiarizationParams, type WhisperParams } from 'aana-host/plugin';
import { type FakeHost, runEndpoint } from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';

const word = (text: string, start: number): AsrOutput['segments'][number]['words'][number] => ({
  word: text,
  speaker: null,
  time_interval: { start, end: start + 1 },
  alignment_confidence: 0.9,
});
const spoken: AsrOutput = {
  segments: [
    {
      text: ' Hello there. Good morning.',
      time_interval: { start: 0, end: 4 },
      confidence: 0.9,
      no_speech_confidence: null,
      words: [word(' Hello', 0), word(' there.', 1), word(' Good', 2), word(' morning.', 3)],
      speaker: null,
    },
  ],
  transcription_info: { language: 'en', language_confidence: 0.99 },
  transcription: { text: ' Hello there. Good morning.' },
};
const silence: AsrOutput = {
  segments: [],
  transcription_info: { language: 'silence', language_confidence: 1 },
  transcription: { text: '' },
};
const turns = [
  { speaker: 'SPEAKER_01', time_interval: { start: 0, end: 2 } },
  { speaker: 'SPEAKER_00', time_interval: { start: 2, end: 4 } },
];

interface Asked {
  readonly transcribed: { params?: WhisperParams }[];
  readonly diarized: { params?: SpeakerDiarizationParams }[];
}
const hostOf = (transcript: AsrOutput, asked: Asked = { transcribed: [], diarized: [] }): FakeHost => ({
  deployments: {
    asr_deployment: { transcribe: (call: Asked['transcribed'][number]) => (asked.transcribed.push(call), transcript) },
    diarization_deployment: {
      diarize: (call: Asked['diarized'][number]) => (asked.diarized.push(call), { segments: turns }),
    },
  },
});
const run = (input: object, fakes = hostOf(spoken)) =>
  runEndpoint(endpoint, 'diarize_video', { video: { path: '/a' }, ...input }, fakes);
const answered = async (input: object): Promise<unknown> => (await run(input)).output;

const Diarize = suite('diarize_video');

Diarize('gives words and segments their speakers, and reports its steps', async () => {
  const { output, progress } = await run({});
  const { segments, transcription } = output as AsrOutput;
  assert.equal(
    segments.map(({ speaker, text, words }) => [speaker, text, words.map((each) => each.speaker)]),
    [
      ['SPEAKER_01', ' Hello there.', ['SPEAKER_01', 'SPEAKER_01']],
      ['SPEAKER_00', ' Good morning.', ['SPEAKER_00', 'SPEAKER_00']],
    ],
  );
  assert.is(transcription.text, ' Hello there. Good morning.');
  assert.equal(progress, [
    { fraction: 0, text: 'transcribing', until: 0.75 },
    { fraction: 0.75, text: 'finding speakers', until: 1 },
  ]);
});

Diarize('always asks for the times of words, and passes the parameters of both deployments on', async () => {
  const asked: Asked = { transcribed: [], diarized: [] };
  const both = { whisper_params: { language: 'en', word_timestamps: false }, diarization_params: { max_speakers: 2 } };
  await run(both, hostOf(spoken, asked));
  await run({ whisper_params: null, diarization_params: null }, hostOf(spoken, asked));
  assert.equal([asked.transcribed[0]?.params?.language, asked.transcribed[0]?.params?.word_timestamps], ['en', true]);
  assert.is(asked.diarized[0]?.params?.max_speakers, 2);
  assert.equal([asked.transcribed[1]?.params, asked.diarized[1]?.params], [{ word_timestamps: true }, undefined]);
});

Diarize('answers in each format', async () => {
  assert.equal(await answered({ format: 'text' }), {
    media_type: 'text/plain',
    text: 'SPEAKER_01: Hello there.\nSPEAKER_00: Good morning.\n',
  });
  assert.match(
    ((await answered({ format: 'vtt' })) as { text: string }).text,
    '00:00:02.000 --> 00:00:04.000\n<v SPEAKER_00>Good morning.\n',
  );
  assert.match(((await answered({ format: 'srt' })) as { text: string }).text, 'SPEAKER_01: Hello there.');
  assert.match(((await answered({ format: 'tsv' })) as { text: string }).text, '2000\t4000\tSPEAKER_00\tGood morning.');
  assert.is(((await answered({ format: 'verbose_json' })) as { segments: unknown[] }).segments.length, 2);
  assert.equal(
    ((await answered({ format: 'diarized_json', merge: true })) as { segments: { speaker: string }[] }).segments.map(
      ({ speaker }) => speaker,
    ),
    ['SPEAKER_00', 'SPEAKER_01'],
  );
});

Diarize('answers silence without asking for its speakers', async () => {
  const asked: Asked = { transcribed: [], diarized: [] };
  assert.equal((await run({}, hostOf(silence, asked))).output, silence);
  assert.is(asked.diarized.length, 0);
});

for (const [input, loc] of [
  [{ whisper_params: { channels: 'separate' } }, ['whisper_params', 'channels']],
  [{ diarization_params: { min_speakers: 3, max_speakers: 2 } }, ['diarization_params', 'min_speakers']],
  [{ diarization_params: { max_speakers: 0 } }, ['diarization_params', 'max_speakers']],
  [{ format: 'json', max_line_width: 20 }, ['max_line_width']],
  [{ format: 'srt', max_line_count: 2 }, ['max_line_count']],
  [{ merge: 'yes' }, ['merge']],
  [{ speakers: 2 }, ['speakers']],
] as const) {
  Diarize(`refuses ${JSON.stringify(input)}`, async () => {
    let error: HostError | undefined;
    try {
      await run(input);
    } catch (thrown) {
      error = thrown as HostError;
    }
    assert.is(error?.name, 'ValidationError');
    assert.equal(
      ((error?.data ?? []) as { loc: unknown }[]).map((entry) => entry.loc),
      [loc],
    );
  });
}

Diarize.run();
