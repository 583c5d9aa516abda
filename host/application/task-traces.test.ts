// The trace of a deferred request continues in the run of its task, also after a restart, and in the requests of
// webhooks.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { deferred } from '../base/core/deferred.ts';
import type { AanaApp } from 'aana-host';
import { Receiver } from '../data/webhooks/fixtures/receiver.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Traces = suite('the trace of a deferred request');
const folder = makeFolder();
Traces.after(() => rmSync(folder, { recursive: true, force: true }));

const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/**
 * Creates an application that records no spans, and whose tasks pass the `traceparent` of their run to `ran`, and end
 * when `run` does.
 */
function tracedApp(
  ran: (traceparent: string | undefined) => void,
  run: (signal: AbortSignal) => Promise<string> = async () => 'done',
): Promise<AanaApp> {
  const app = makeApp(folder, {}, { webhook: { allow_private_urls: true }, telemetry: { traces: { kept: 0 } } });
  app.registerEndpoint({
    name: 'trace',
    path: '/trace',
    summary: 'Tells its trace',
    input: z.strictObject({}),
    output: z.string(),
    run: (_input, { traceparent, signal }) => {
      ran(traceparent);
      return run(signal);
    },
  });
  return started(app);
}

async function defer(app: AanaApp, traceparent: string): Promise<string> {
  const response = await fetch(`${app.url}/trace?defer=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent },
    body: '{}',
  });
  const body = (await response.json()) as { task_id: string };
  assert.is(response.status, 200, JSON.stringify(body));
  return body.task_id;
}

Traces('continues in another process than the one that accepted the request, and in its webhooks', async () => {
  const receiver = await Receiver.start();
  try {
    const runs: (string | undefined)[] = [];
    const begun = deferred();
    let task = '';
    {
      await using first = await tracedApp(
        begun.resolve as () => void,
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      );
      await fetch(`${first.url}/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url: receiver.url, events: ['task.completed'] }),
      });
      task = await defer(first, CALLER);
      await begun.promise;
      await first.shutdown({ graceMs: 0 });
    }
    await using second = await tracedApp((traceparent) => runs.push(traceparent));
    await receiver.until(1);
    assert.equal(runs, [CALLER]);
    assert.equal(
      receiver.received.map(({ payload, headers }) => [payload.task_id, headers['traceparent']]),
      [[task, CALLER]],
    );
    for (const invalid of [
      `${CALLER}-more`,
      'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
      "'; drop table tasks; --",
    ]) {
      await defer(second, invalid);
    }
    await receiver.until(5);
    assert.equal(runs.slice(1), [undefined, undefined, undefined, undefined]);
    assert.equal(
      receiver.received.slice(1).map(({ headers }) => headers['traceparent']),
      [undefined, undefined, undefined, undefined],
    );
  } finally {
    await receiver.close();
  }
});

Traces.run();
