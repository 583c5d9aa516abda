import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { eventually } from '../fixtures/eventually.ts';
import { rawPost, readChunks, startServer, type TestServer } from '../fixtures/test-server.ts';

/** Objects of 8 KB that the buffers of both ends of a socket hold, and more. */
const MOST_ON_ITS_WAY = 4000;

const Stream = suite('streaming');
let at: TestServer;

Stream.before.each(async () => {
  at = await startServer();
});
Stream.after.each(async () => at[Symbol.asyncDispose]());

Stream('sends each object as one HTTP chunk with nothing between them', async () => {
  const { head, chunks } = await readChunks(at.port, '/count_stream', { until: 4 });
  assert.match(head, 'http/1.1 200');
  assert.match(head, 'content-type: application/json-seq');
  assert.match(head, 'x-accel-buffering: no');
  assert.match(head, 'transfer-encoding: chunked');
  assert.equal(chunks, ['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}']);
});

Stream('flushes an object before the next one is made', async () => {
  const response = await fetch(`${at.url}/count_stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ until: 2, hold_after: 0 }), // the second one is not made while the client is there
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  assert.is(Buffer.from(value as Uint8Array).toString(), '{"n":0}');
  await reader.cancel();
});

Stream('answers an error before the first object with its ordinary status', async () => {
  const response = await fetch(`${at.url}/count_stream`, {
    method: 'POST',
    body: JSON.stringify({ until: 3, fail_at: 0 }),
    headers: { 'content-type': 'application/json' },
  });
  assert.is(response.status, 503);
  assert.is(((await response.json()) as { error: string }).error, 'InferenceException');
  const bad = await fetch(`${at.url}/count_stream`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  assert.is(bad.status, 422);
});

Stream('ends with one error object when it fails after the first one', async () => {
  const { head, chunks } = await readChunks(at.port, '/count_stream', { until: 5, fail_at: 2 });
  assert.match(head, 'http/1.1 200');
  assert.is(chunks.length, 3);
  assert.equal(JSON.parse(chunks[2] ?? ''), {
    error: 'InferenceException',
    message: 'the replica was lost',
    data: { model_name: 'm' },
    stacktrace: null,
  });
});

Stream('answers a stream of nothing with 200 and an empty body', async () => {
  const { head, chunks } = await readChunks(at.port, '/count_stream', { until: 0 });
  assert.match(head, 'http/1.1 200');
  assert.equal(chunks, []);
});

Stream('makes the producer wait while the client does not read', async () => {
  const total = 4000; // 32 MB: more than the buffers of both ends of a socket
  const socket = await rawPost(at.port, '/flood_stream', { chunks: total }, ['connection: close']);
  socket.pause();
  await eventually(() => at.seen.written > 0, 'the stream begins');
  // Whatever the producer can do in a request's time, it did: one that nothing holds back would be done.
  for (let i = 0; i < 50; i++)
    await (
      await fetch(`${at.url}/echo`, {
        method: 'POST',
        body: '{"text":""}',
        headers: { 'content-type': 'application/json' },
      })
    ).text();
  assert.ok(at.seen.written < total, `the producer made all ${total} objects`);
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  assert.is(at.seen.written, total);
  assert.ok(bytes > total * 8000);
});

for (const accept of ['application/json-seq', 'application/x-ndjson', 'text/event-stream']) {
  Stream(`makes only as much as a reader of single bytes can receive, as ${accept}`, async () => {
    const roundTrips = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await (await fetch(`${at.url}/api/ready`)).text();
    };
    const socket = await rawPost(at.port, '/flood_stream', { chunks: 1_000_000 }, [`accept: ${accept}`]);
    await once(socket, 'readable'); // and nobody reads
    let before = -1;
    while (before !== at.seen.written) {
      before = at.seen.written;
      await roundTrips();
    }
    assert.ok(
      before < MOST_ON_ITS_WAY,
      `the producer made ${before} objects of 8 KB for a reader that has taken nothing`,
    );
    for (let byte = 0; byte < 2000; byte++) if (socket.read(1) === null) await once(socket, 'readable');
    await roundTrips();
    assert.ok(
      at.seen.written - before < 200,
      `it made ${at.seen.written - before} more for a reader that has taken 2000 bytes`,
    );
    socket.destroy();
    await eventually(() => at.seen.aborted !== undefined, 'the abort');
  });
}

Stream('aborts a run with the reason that the client has left', async () => {
  const streamed = ['*/*', 'application/x-ndjson', 'text/event-stream'].map(
    (accept) => ['/flood_stream', accept] as const,
  );
  for (const [path, accept] of [['/wait', '*/*'] as const, ...streamed]) {
    Object.assign(at.seen, { aborted: undefined, running: 0, written: 0 });
    const socket = await rawPost(at.port, path, path === '/wait' ? {} : { chunks: 1_000_000 }, [`accept: ${accept}`]);
    await eventually(() => at.seen.running > 0 || at.seen.written > 0, 'the run begins');
    socket.destroy();
    await eventually(() => at.seen.aborted !== undefined, 'the abort');
    const { reason } = at.seen.aborted as unknown as { reason: AanaError };
    assert.is(reason.name, 'CancelledError');
    assert.is(reason.kind, 'cancelled');
  }
});

Stream('aborts a run when a client that has stopped reading leaves', async () => {
  const socket = await rawPost(at.port, '/flood_stream', { chunks: 1_000_000 });
  socket.pause();
  await eventually(() => at.seen.written > 0, 'the stream begins');
  socket.destroy();
  await eventually(() => at.seen.aborted !== undefined, 'the abort');
});

Stream('does not abort a run whose answer was complete', async () => {
  const response = await fetch(`${at.url}/wait`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"ms":1}',
  });
  assert.is(await response.text(), '{"waited":1}');
  await eventually(() => at.seen.closed > 0, 'the server is done with the request');
  assert.is(at.seen.aborted, undefined);
});

Stream.run();
