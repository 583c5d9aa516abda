import { type ChatDialog, HostError, type SamplingParams } from 'aana-host/plugin';
import { type FakeHost, runEndpoint } from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';

interface Chat {
  readonly dialog: ChatDialog;
  readonly sampling_params: SamplingParams;
  readonly assistant_prefix: string;
}

const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/** A fake model that counts each word as a token. It answers with the prefix and a number. */
class FakeModel {
  readonly chats: Chat[] = [];
  readonly streamed: Chat[] = [];
  readonly #contextTokens: number;

  constructor(contextTokens = 8192) {
    this.#contextTokens = contextTokens;
  }

  count_tokens = ({ text, dialog }: { text?: string; dialog?: ChatDialog }) => {
    const tokens = countWords(text ?? dialog?.messages.map((message) => message.content).join(' ') ?? '');
    return { tokens, max_tokens: this.#contextTokens };
  };

  chat = (chat: Chat) => {
    this.chats.push(chat);
    return { message: { role: 'assistant', content: this.#answer(chat, this.chats.length) } };
  };

  chat_stream = (chat: Chat) => {
    this.streamed.push(chat);
    return (
      this.#answer(chat, 0)
        .match(/\S+\s*/g)
        ?.map((text) => ({ text })) ?? []
    );
  };

  /** Fails like the deployment does when the prompt and the answer do not fit. */
  #answer({ dialog, sampling_params, assistant_prefix }: Chat, at: number): string {
    const { tokens } = this.count_tokens({ dialog });
    const answerTokens = sampling_params.max_tokens ?? 0;
    assert.ok(
      tokens + countWords(assistant_prefix) + answerTokens <= this.#contextTokens,
      `${tokens} and ${answerTokens} do not fit`,
    );
    return `${assistant_prefix} thing ${at} ${'at length '.repeat(Math.floor(answerTokens / 4))}.`;
  }
}

function host(text: string, model: FakeModel): FakeHost {
  const language = text === '' ? 'silence' : 'en';
  const transcribe = () => ({
    segments: [],
    transcription_info: { language, language_confidence: 1 },
    transcription: { text },
  });
  return { deployments: { asr_deployment: { transcribe }, llm_deployment: model as never } };
}

const video = { path: '/talk.mp4' };
const sentence = 'The speaker lifts an object of fifteen kilograms by one meter.';
const talk = (sentences: number): string =>
  Array.from({ length: sentences }, (_, at) => `${sentence.slice(0, -1)} ${at}.`).join(' ');
const lastOf = (chat: Chat | undefined): string => chat?.dialog.messages.at(-1)?.content ?? '';
const textOf = (written: readonly unknown[]): string =>
  written.map((chunk) => (chunk as { text: string }).text).join('');

const Summarize = suite('summarize_video');

Summarize('puts the instruction after the transcript and begins the answer', async () => {
  const model = new FakeModel();
  const { output } = await runEndpoint(endpoint, 'summarize_video', { video }, host(talk(20), model));
  const [chat] = model.chats;
  assert.is(model.chats.length, 1);
  assert.equal(
    chat?.dialog.messages.map((message) => message.role),
    ['system', 'user'],
  );
  assert.ok(lastOf(chat).indexOf(sentence.slice(0, -1)) < lastOf(chat).indexOf('five bullet points'));
  assert.match((output as { summary: string }).summary, /^- The speaker explains thing 1/);
});

Summarize('streams the same chat, including its first chunk', async () => {
  const model = new FakeModel();
  const { output, written } = await runEndpoint(endpoint, 'summarize_video_stream', { video }, host(talk(20), model));
  assert.is(output, null);
  assert.is(model.chats.length, 0);
  assert.ok(written.length > 3);
  assert.match(textOf(written), /^- The speaker explains thing 0/);
});

Summarize('answers without the model when there is no speech', async () => {
  const model = new FakeModel();
  const { output } = await runEndpoint(endpoint, 'summarize_video', { video }, host('', model));
  const { written } = await runEndpoint(endpoint, 'summarize_video_stream', { video }, host('', model));
  assert.match((output as { summary: string }).summary, /no speech/);
  assert.is(written.length, 1);
  assert.is(textOf(written), (output as { summary: string }).summary);
  assert.is(model.chats.length + model.streamed.length, 0);
});

Summarize('asks for one sentence when there are only a few', async () => {
  const model = new FakeModel();
  await runEndpoint(endpoint, 'summarize_video', { video }, host(sentence, model));
  assert.match(lastOf(model.chats[0]), /one bullet point/);
  assert.is(model.chats[0]?.sampling_params.frequency_penalty, 0);
});

Summarize('summarizes an hour in parts and streams only the last pass', async () => {
  const model = new FakeModel();
  const { written } = await runEndpoint(endpoint, 'summarize_video_stream', { video }, host(talk(1000), model));
  assert.ok(model.chats.length >= 10, String(model.chats.length));
  assert.is(model.streamed.length, 1);
  const seen = model.chats.map(lastOf).join(' ');
  for (const at of [0, 250, 500, 999]) assert.ok(seen.includes(`meter ${at}.`), `sentence ${at} is in a part`);
  assert.match(
    lastOf(model.streamed[0]),
    /^Notes about the parts.*Part 1: .*Part 2: .*one bullet point for each part/s,
  );
  assert.match(textOf(written), /^- The speaker explains thing 0/);
});

Summarize('summarizes in a small context with as many passes as needed', async () => {
  for (const contextTokens of [300, 512, 1024]) {
    const model = new FakeModel(contextTokens);
    await runEndpoint(
      endpoint,
      'summarize_video',
      { video, sampling_params: { max_tokens: 100 } },
      host(talk(400), model),
    );
    assert.ok(model.chats.length > 5);
  }
});

Summarize('refuses a context that is too small, with the numbers', async () => {
  try {
    await runEndpoint(endpoint, 'summarize_video', { video }, host(talk(20), new FakeModel(128)));
  } catch (error) {
    const { name, data } = error as Error & { data: { max_len: number } };
    assert.equal([name, data.max_len], ['PromptTooLongException', 128]);
    return;
  }
  assert.unreachable('it did not fail');
});

Summarize('lets the caller choose the sampling; null changes nothing', async () => {
  const model = new FakeModel();
  const sampling_params = { temperature: 0.7, min_p: null, max_tokens: 50, seed: 3 };
  await runEndpoint(endpoint, 'summarize_video', { video, sampling_params }, host(talk(20), model));
  assert.equal(model.chats[0]?.sampling_params, {
    temperature: 0.7,
    min_p: 0.1,
    frequency_penalty: 0.2,
    max_tokens: 50,
    seed: 3,
  });
});

const quotation = (text: string, start: number) => ({ text, start, end: start + 2, source: 0 });

/** A model that answers with one claim for each part, whose last one is cut if `isCut`. */
function citing(model: FakeModel, isCut = false) {
  const sampling: SamplingParams[] = [];
  const chat = ({ sampling_params }: Chat) => {
    const at = sampling.push(sampling_params);
    const claims = [
      { claim: `Claim ${at}.`, quotes: ['by one meter', `number ${at}`, 'by one meter'] },
      { claim: 'Claim 1.', quotes: ['by one meter'] },
    ];
    const quotations = [quotation('by one meter', 3), quotation(`number ${at}`, 4)];
    const details = { finish_reason: isCut ? 'length' : 'stop', usage: {}, quotations };
    return { message: { role: 'assistant', content: JSON.stringify({ claims }) }, details };
  };
  return { sampling, model: { count_tokens: model.count_tokens, chat } as unknown as FakeModel };
}

Summarize('gives each claim its quotations with their times, and no claim twice', async () => {
  const { sampling, model } = citing(new FakeModel());
  const { output } = await runEndpoint(endpoint, 'summarize_video', { video, cite: true }, host(talk(200), model));
  const { summary, claims } = output as { summary: string; claims: { claim: string; quotes: unknown[] }[] };
  assert.ok(sampling.length > 1);
  assert.is(claims.length, sampling.length);
  assert.equal(claims[1], {
    claim: 'Claim 2.',
    quotes: [
      { text: 'by one meter', start: 3, end: 5, source: 'speech' },
      { text: 'number 2', start: 4, end: 6, source: 'speech' },
    ],
  });
  assert.ok(summary.startsWith('- Claim 1.\n- Claim 2.'));
  assert.is(new Set(sampling.map((each) => JSON.stringify(each.structured_outputs?.quote_of))).size, 1);
});

Summarize('leaves out a claim that was cut, cites nothing in silence, and cites only where it is asked', async () => {
  const { model } = citing(new FakeModel(), true);
  const run = async (args: object, text: string) =>
    (await runEndpoint(endpoint, 'summarize_video', { video, ...args }, host(text, model))).output as {
      claims?: { claim: string }[];
    };
  assert.equal(
    (await run({ cite: true }, talk(20))).claims!.map(({ claim }) => claim),
    ['Claim 1.'],
  );
  assert.equal((await run({ cite: true }, '')).claims, []);
  assert.is((await run({ cite: false }, '')).claims, undefined);
});

Summarize('refuses another form of the answer beside cite', async () => {
  const refusal = (sampling_params: object, model = new FakeModel()): Promise<string> =>
    runEndpoint(endpoint, 'summarize_video', { video, cite: true, sampling_params }, host(talk(20), model)).then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );
  assert.match(await refusal({ structured_outputs: { choice: ['a'] } }), /quotations.*structured_outputs/);
  assert.match(await refusal({ stop: ['"'] }), /quotations.*stop/);
  assert.match(await refusal({ stop_token_ids: [1] }), /quotations.*stop_token_ids/);
  const chat = (): never => {
    const data = [{ loc: ['sampling_params', 'structured_outputs'], msg: 'no source has 5 words' }];
    throw new HostError('InvalidSamplingParams', 'bad-request', 'sampling_params.structured_outputs: …', { data });
  };
  const { count_tokens } = new FakeModel();
  assert.is(
    await refusal({}, { count_tokens, chat } as unknown as FakeModel),
    'quotations are not possible: no source has 5 words',
  );
});

Summarize('summarizes and quotes embedded subtitles where they are asked for', async () => {
  const subtitles = '1\n00:00:01,000 --> 00:00:02,500\nWe lift the stone by one meter.\n';
  const { sampling, model } = citing(new FakeModel());
  const { deployments } = host('', model);
  const asr_deployment = { transcribe: () => assert.unreachable('the speech was transcribed') };
  const fakes: FakeHost = { video: () => ({ subtitles }), deployments: { ...deployments, asr_deployment } };
  const input = { video, subtitles: true };
  const { output } = await runEndpoint(endpoint, 'summarize_video', { ...input, cite: true }, fakes);
  assert.match((output as { summary: string }).summary, /^- Claim 1\./);
  const text = ' We lift the stone by one meter.';
  assert.equal(sampling[0]!.structured_outputs?.quote_of, [[{ text, start: 1, end: 2.5 }]]);
  const streaming = new FakeModel();
  const { llm_deployment } = host('', streaming).deployments!;
  const more = { ...fakes, deployments: { llm_deployment, asr_deployment } } as FakeHost;
  await runEndpoint(endpoint, 'summarize_video_stream', input, more);
  assert.match(JSON.stringify(streaming.streamed[0]!.dialog), /the stone by one meter/);
});

Summarize.run();
