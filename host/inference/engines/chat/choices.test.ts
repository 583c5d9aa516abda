import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../../base/core/async/async-values.ts';
import { AanaError } from '../../../base/core/errors.ts';
import type { GenerationDetails, TextChunk } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { answerCount, isGreedy, samplingOfAnswer, several } from './choices.ts';
import { wholeChat, wholeText } from './whole-answers.ts';

const Choices = suite('several answers to a prompt');

const UNLIMITED = new AbortController().signal;
const detailsOf = (cached: number, completion: number, reasoning?: number): GenerationDetails => ({
  finish_reason: 'stop',
  usage: {
    ...{ prompt_tokens: 10, cached_tokens: cached, completion_tokens: completion },
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
  },
});

async function* answer(
  texts: readonly string[],
  details = detailsOf(0, texts.length),
): AsyncGenerator<TextChunk, GenerationDetails> {
  for (const text of texts) yield { text };
  return details;
}

Choices('have pieces with their number, and count the prompt once', async () => {
  const chunks: TextChunk[] = [];
  const all = [answer(['a', 'b'], detailsOf(3, 2)), answer(['c'], detailsOf(9, 1, 1)), answer([], detailsOf(9, 0))];
  const end = await drained(
    several(3, UNLIMITED, (index) => all[index] as (typeof all)[number]),
    (chunk) => void chunks.push(chunk),
  );
  assert.equal(
    chunks.filter(({ index }) => index === undefined),
    [{ text: 'a' }, { text: 'b' }],
  );
  assert.equal(
    chunks.filter(({ index }) => index !== undefined),
    [{ index: 1, text: 'c' }],
  );
  assert.equal(end.usage, { prompt_tokens: 10, cached_tokens: 3, completion_tokens: 3, reasoning_tokens: 1 });
  assert.equal(end.choices, [detailsOf(3, 2), detailsOf(9, 1, 1), detailsOf(9, 0)]);
});

Choices('become whole answers', async () => {
  const run = (): AsyncGenerator<TextChunk, GenerationDetails> =>
    several(2, UNLIMITED, (index) => answer(index === 0 ? ['a', 'b'] : []));
  const usage = { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 2 };
  assert.equal(await wholeText(run(), { count: 2, details: true, logprobs: false, promptLogprobs: false }), {
    text: 'ab',
    details: { finish_reason: 'stop', usage },
    choices: [
      { text: 'ab', details: detailsOf(0, 2) },
      { text: '', details: detailsOf(0, 0) },
    ],
  });
  assert.equal(await wholeChat(run(), { count: 2, details: false, logprobs: false, promptLogprobs: false }), {
    message: { role: 'assistant', content: 'ab' },
    choices: [{ message: { role: 'assistant', content: 'ab' } }, { message: { role: 'assistant', content: '' } }],
  });
});

Choices('have no details where one of them has none', async () => {
  async function* bare(): AsyncGenerator<TextChunk, GenerationDetails | undefined> {
    yield { text: 'x' };
    return undefined;
  }
  assert.is(
    await drained(
      several(2, UNLIMITED, (index) => (index === 0 ? answer(['a']) : bare())),
      () => {},
    ),
    undefined,
  );
});

/** Waits for its signal, as an answer of the engine. */
async function* waiting(signal: AbortSignal, log: string[]): AsyncGenerator<TextChunk, GenerationDetails> {
  yield { text: 'begun' };
  await sleep(60_000, undefined, { signal }).catch((error: unknown) => {
    log.push('stopped');
    throw error;
  });
  return detailsOf(0, 1);
}

Choices('end together when one fails', async () => {
  const log: string[] = [];
  async function* failing(): AsyncGenerator<TextChunk, GenerationDetails> {
    yield { text: 'x' };
    throw new AanaError('Broken', 'internal', 'the second one failed');
  }
  const error = await errorOf(
    drained(
      several(3, UNLIMITED, (index, signal) => (index === 1 ? failing() : waiting(signal, log))),
      () => {},
    ),
  );
  assert.match(error.message, 'the second one failed');
  await sleep(1);
  assert.equal(log, ['stopped', 'stopped']);
});

Choices('end together when the reader leaves', async () => {
  const log: string[] = [];
  for await (const { index } of several(2, UNLIMITED, (_, signal) => waiting(signal, log))) if (index === 1) break;
  await sleep(1);
  assert.equal(log, ['stopped']); // the other one was not read beyond its first piece
});

Choices('end together when the caller cancels', async () => {
  const log: string[] = [];
  const caller = new AbortController();
  const answers = several(2, caller.signal, (_, signal) => waiting(signal, log));
  const read = errorOf(drained(answers, () => {}));
  await sleep(1);
  caller.abort(new AanaError('Left', 'cancelled', 'the caller left'));
  await read.catch(() => {});
  await sleep(1);
  assert.equal(log, ['stopped', 'stopped']);
});

Choices('have seeds that count up, and need a temperature', () => {
  assert.equal(samplingOfAnswer({ seed: 5 }, { n: 3, top_k: 2 }, 2), { top_k: 2, seed: 7 });
  assert.equal(samplingOfAnswer({}, { n: 3, seed: 2 ** 32 - 1 }, 1), { seed: 0 });
  assert.equal(samplingOfAnswer({}, { n: 3, seed: null }, 1), { seed: null });
  assert.is(answerCount(undefined), 1);
  assert.is(answerCount({ n: 4 }), 4);
  assert.is(isGreedy({ temperature: 1 }, { n: 4 }), false);
  assert.is(isGreedy({ temperature: 1 }, { temperature: 0 }), true);
});

Choices.run();
