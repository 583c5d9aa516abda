// Structured output through a deployment with a tiny model, in a replica process of its own.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../base/core/async/async-values.ts';
import type {
  GeneratedText,
  GenerationDetails,
  SamplingParams,
  StructuredOutputs,
  TextChunk,
} from '../../base/schemas/index.ts';
import { quotationProblem } from '../../test/campaign/quotes/check-quotations.ts';
import { quotingAnswers } from '../../test/campaign/quotes/quoting-answers.ts';
import { answerSchemas } from '../../test/campaign/structured/random-answers.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { tinyTexts } from './fixtures/tiny-texts.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Structured = suite('structured output of a deployment');
const tiny = tinyTexts(Structured, {
  model_kwargs: { n_ctx: 512 },
  default_sampling_params: { max_tokens: 300, structured_outputs: { choice: ['by default'] } },
});

const SCHEMA = {
  type: 'object',
  properties: { kind: { enum: ['cat', 'dog'] }, legs: { type: 'integer', minimum: 2, maximum: 4 } },
  required: ['kind', 'legs'],
  additionalProperties: false,
};
const isFilled = (text: string): boolean => {
  const { kind, legs, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return (
    ['cat', 'dog'].includes(String(kind)) && Number(legs) >= 2 && Number(legs) <= 4 && Object.keys(rest).length === 0
  );
};

interface Answer {
  readonly text: string;
  readonly details: GenerationDetails;
}

async function generate(structured: unknown, params: SamplingParams = {}): Promise<Answer> {
  const sampling_params = {
    ...params,
    ...(structured !== undefined && { structured_outputs: structured as StructuredOutputs }),
  };
  return (await tiny.llm.call('generate', { prompt: 'Once', sampling_params, details: true })) as Answer;
}

async function chat(args: Record<string, unknown>): Promise<string> {
  const dialog = { messages: [{ role: 'user', content: 'Once upon a time' }] };
  return ((await tiny.llm.call('chat', { dialog, ...args })) as { message: { content: string } }).message.content;
}

Structured('gives the answer its form', async () => {
  assert.is((await generate(undefined)).text, 'by default');
  for (const temperature of [0, 1.5]) {
    assert.ok(isFilled((await generate({ json: SCHEMA }, { temperature })).text));
    assert.ok(isFilled((await generate({ json: JSON.stringify(SCHEMA) }, { temperature, top_p: 0.9 })).text));
    assert.match((await generate({ regex: '[a-c]{3}\\d?' }, { temperature, top_k: 5 })).text, /^[a-c]{3}\d?$/);
    assert.match((await generate({ choice: ['red', 'blue'] }, { temperature })).text, /^(?:red|blue)$/);
    assert.match((await generate({ grammar: 'root ::= "a" [xy]{2} "!"' }, { temperature })).text, /^a[xy]{2}!$/);
  }
  const { text, details } = await generate({ json_object: true, close_json: true }, { max_tokens: 7 });
  assert.is(JSON.parse(text).constructor, Object);
  assert.equal([details.finish_reason, details.usage.completion_tokens], ['length', 7]);
});

Structured('takes the form of an answer as OpenAI has it', async () => {
  const format = { type: 'json_schema', json_schema: { name: 'animal', schema: SCHEMA, strict: true } };
  assert.ok(isFilled(await chat({ response_format: format })));
  assert.ok(isFilled(await chat({ response_format: format, assistant_prefix: '{"kind": "dog",' })));
  const anything = { type: 'json_object' };
  const closing = { structured_outputs: { json_object: true, close_json: true }, max_tokens: 5 };
  assert.type(JSON.parse(await chat({ sampling_params: closing })), 'object');
  assert.ok((await chat({ response_format: anything, sampling_params: { max_tokens: 3 } })).startsWith('{'));
  assert.not.match(await chat({ response_format: { type: 'text' } }), /^by default$/);
  let streamed = '';
  const dialog = { messages: [{ role: 'user', content: 'Hi' }] };
  for await (const batch of tiny.llm.stream('chat_stream', { dialog, response_format: format }))
    streamed += (batch as { text: string }[]).map(({ text }) => text).join('');
  assert.ok(isFilled(streamed));
});

Structured('refuses what cannot be a form, with its name, and goes on', async () => {
  for (const structured of [
    {},
    { json: SCHEMA, choice: ['a'] },
    { json_object: false },
    { choice: [] },
    { regex: 5 },
    { json: [] },
    { close_json: true, regex: 'a' },
    { other: 1 },
  ]) {
    const { kind, message } = await errorOf(generate(structured));
    assert.is(kind, 'invalid-input', JSON.stringify(structured));
    assert.match(message, 'sampling_params.structured_outputs');
  }
  for (const [structured, pattern] of [
    [{ json: { not: {} }, strict: true }, /sampling_params\.structured_outputs: #: the keyword "not" is not supported/],
    [{ json: '{' }, /json: it is not JSON/],
    [{ regex: '(?=a)' }, /regex: the pattern has a lookahead/],
    [{ grammar: 'root ::= root "a"' }, /no text can meet the grammar|left-recursive/],
    [{ json: { type: 'string', minLength: 400_000 }, strict: true }, /the grammar is too large/],
    [{ json: { type: 'string', minLength: 20_000 }, strict: true, close_json: true }, /cannot be closed/],
  ] as const) {
    const { name, kind, fault, message } = await errorOf(generate(structured));
    assert.equal([name, kind, fault], ['InvalidSamplingParams', 'bad-request', 'caller'], message);
    assert.match(message, pattern);
  }
  const twice = {
    response_format: { type: 'json_object' },
    sampling_params: { structured_outputs: { choice: ['a'] } },
  };
  assert.match(
    (await errorOf(chat(twice))).message,
    /response_format: sampling_params\.structured_outputs excludes it/,
  );
  const format = { type: 'json_schema', json_schema: { schema: { uniqueItems: true }, strict: true } };
  assert.match(
    (await errorOf(chat({ response_format: format }))).message,
    /response_format: #: the keyword "uniqueItems"/,
  );
  assert.match((await errorOf(chat({ assistant_prefix: 'x' }))).message, /does not allow its prefix/);
  assert.is((await generate({ choice: ['a'] })).text, 'a');
});

Structured('answers under random schemas, cut at random lengths, are valid', async () => {
  const lines: string[] = [];
  const { wrong, closed, ended, endedOpen } = await answerSchemas({ schemas: 60, seed: 3 }, (line) => lines.push(line));
  assert.is(wrong, 0, lines.join('\n'));
  assert.ok(closed > 5 && ended > 5 && endedOpen > 5, JSON.stringify({ closed, ended, endedOpen }));
});

const SPEECH = [
  { text: ' We meet at nine o’clock in the "old" hall,', start: 0, end: 2.5 },
  { text: ' and nobody may be late. We meet', start: 2.5, end: 4 },
  { text: ' at nine o’clock again tomorrow \\o/ 🎈 there.', start: 4.25, end: 7 },
];
const spoken = SPEECH.map(({ text }) => text)
  .join('')
  .trim();

Structured('quotes whole words of its sources with their times, wherever max_tokens cuts the answer', async () => {
  const lines: string[] = [];
  const counts = await quotingAnswers({ answers: 60, seed: 1 }, { onWrong: (line) => void lines.push(line) });
  assert.is(counts.wrong, 0, lines.join('\n'));
  assert.ok(counts.plain > 10 && counts.json > 10 && counts.cut > 10, JSON.stringify(counts));
});

Structured('quotes a talk of ten hours with its times', async () => {
  const talk = Array.from({ length: 12_000 }, (_, n) => ({
    ...{ text: ` In part ${n} we say ${7 * n} words about ${n % 97} things.`, start: 3 * n, end: 3 * n + 2.5 },
  }));
  const json = { type: 'array', items: { type: 'string', format: 'quote' }, minItems: 3, maxItems: 3 };
  const form = { quote_of: [talk], json, max_words: 20 };
  const { details } = await generate(form, { max_tokens: 200, temperature: 1, seed: 5 });
  assert.is(details.quotations!.length, 3);
  for (const one of details.quotations!) assert.is(quotationProblem(one, [talk], 5), undefined);
});

Structured('quotes in the strings of a schema', async () => {
  const quote = { type: 'string', format: 'quote' };
  const json = { type: 'array', items: quote, minItems: 2, maxItems: 3 };
  for (let max_tokens = 10; max_tokens <= 200; max_tokens += 50) {
    const sampling = { max_tokens, temperature: 1, seed: max_tokens };
    const { text, details } = await generate({ quote_of: ['too short', SPEECH], json }, sampling);
    const strings = JSON.parse(text) as string[];
    assert.ok(strings.length >= 2);
    assert.equal(
      details.quotations!.map((one) => one.text),
      strings,
    );
    for (const one of details.quotations!) assert.is(quotationProblem(one, [[], SPEECH], 5), undefined);
  }
  const { details } = await generate(
    { quote_of: [spoken], json: quote, min_words: 3, close_json: false },
    { max_tokens: 1 },
  );
  const closed = await generate({ quote_of: [spoken], close_json: true }, { max_tokens: 1 });
  assert.equal(
    closed.details.quotations?.map(({ text }) => text),
    [closed.text],
  );
  assert.equal(details.quotations, []);
});

Structured('tells quotations at the end of a stream, and of each answer', async () => {
  const sampling_params = { structured_outputs: { quote_of: ['too short', SPEECH] }, n: 2, temperature: 1.5 };
  const { choices } = (await tiny.llm.call('generate', { prompt: 'Once', sampling_params })) as GeneratedText;
  for (const { text, details } of choices!)
    assert.equal(
      details!.quotations!.map((one) => one.text),
      [text],
    );
  const chunks = tiny.llm.stream('generate_stream', { prompt: 'Once', sampling_params: { ...sampling_params, n: 1 } });
  let text = '';
  const details = await drained(chunks as AsyncIterable<TextChunk[], GenerationDetails>, (batch) => {
    for (const chunk of batch) text += chunk.text;
  });
  assert.equal(
    details.quotations!.map((one) => one.text),
    [text],
  );
});

Structured('refuses sources that cannot be quoted, and names them', async () => {
  for (const [form, reason] of [
    [{ quote_of: [''] }, /structured_outputs: quote_of: no source has 5 words/],
    [{ quote_of: [spoken], json: { type: 'string' } }, /structured_outputs: json: .*the format "quote"/],
    [{ quote_of: [spoken], regex: 'a' }, /exactly one of json, .* or json and quote_of/],
    [{ quote_of: [] }, /quote_of/],
    [{ regex: 'a', min_words: 5 }, /min_words and max_words need quote_of/],
    [{ quote_of: [spoken], max_words: 4 }, /max_words: it is less than min_words, 5/],
    [{ quote_of: [[{ text: spoken, start: 2, end: 1 }]] }, /quote_of.*end.*must not be before start/],
    [{ quote_of: ['too short', SPEECH.toReversed()] }, /quote_of.*1.*1.*start.*before the start of the part before it/],
    [{ quote_of: [spoken], min_words: 100_001 }, /min_words.*100000/],
    [{ quote_of: [spoken], min_words: 101 }, /quote_of: no source has 101 words/],
    [{ quote_of: ['half of a pair \ud83c is no text'] }, /well-formed/],
    [{ grammar: 'root ::= %quote' }, /the grammar has %quote, but the request has no sources to quote/],
  ] as const)
    assert.match((await errorOf(generate(form))).message, reason);
});

if (cannotRun === undefined) Structured.run();
else skip('structured output of a deployment', cannotRun);
