// Streams of responses that wait for a busy model, with the official client over a real socket.
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../fixtures/openai-app.ts';

const Waiting = suite('streams of responses that wait');
let at: OpenAiApp;

Waiting.before(async () => {
  at = await startOpenAiApp({ config: { openai: { responses: { created_after: 0 } } }, prepare: registerEndless });
});
Waiting.after(async () => at?.[Symbol.asyncDispose]());

type Event = OpenAI.Responses.ResponseStreamEvent;

const begin = (maxTokens: number, input = 'a') =>
  at.client.responses.create({
    ...{ model: 'endless', input, max_output_tokens: maxTokens, overflow: 'shift' },
    stream: true,
  });

Waiting('begin at once, so a client that waits can leave, and the others get their answers', async () => {
  const running = await begin(100_000_000); // it takes the only place of the engine
  const runningEvents = running[Symbol.asyncIterator]();
  for (;;) if ((await runningEvents.next()).value?.type === 'response.output_text.delta') break;

  const left = await begin(2);
  const { value: created } = await left[Symbol.asyncIterator]().next();
  assert.is(created?.type, 'response.created');
  left.controller.abort();

  const events: Event[] = [];
  for await (const event of await begin(2)) {
    if (event.type === 'response.in_progress') running.controller.abort();
    events.push(event);
  }
  assert.equal(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  assert.equal(events.map(({ type }) => type).slice(0, 3), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
  ]);
  assert.is(events.at(-1)?.type, 'response.incomplete');
  const { id } = (created as OpenAI.Responses.ResponseCreatedEvent).response;
  assert.is((await fetch(`${at.url}/v1/responses/${id}`)).status, 404, 'the one that was left is not stored');
});

Waiting('end with a failed response after an error, whose code agents know', async () => {
  const events: Event[] = [];
  const request = { model: 'tiny', input: 'dog '.repeat(2000), stream: true } as const;
  for await (const event of await at.client.responses.create(request)) events.push(event);
  assert.equal(
    events.map(({ type }) => type),
    ['response.created', 'response.in_progress', 'response.failed'],
  );
  const { error } = (events.at(-1) as OpenAI.Responses.ResponseFailedEvent).response;
  assert.is(error?.code as string, 'context_length_exceeded');
});

if (cannotRun !== undefined) skip('streams of responses that wait', cannotRun);
else Waiting.run();
