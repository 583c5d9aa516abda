import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../fixtures/eventually.ts';
import { LIMITS, rawPost, readChunks, startServer, type TestServer } from '../fixtures/test-server.ts';

const Formats = suite('formats of streams');
let at: TestServer;

Formats.before.each(async () => {
  at = await startServer();
});
Formats.after.each(async () => at[Symbol.asyncDispose]());

const post = (path: string, json: unknown, accept: string): Promise<Response> =>
  fetch(at.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(json),
  });
const ERROR =
  '{"error":"InferenceException","message":"the replica was lost","data":{"model_name":"m"},"stacktrace":null}';

const CHOICES: [accept: string, type: string][] = [
  ['*/*', 'application/json-seq'],
  ['application/json', 'application/json-seq'],
  ['application/json, text/plain, */*', 'application/json-seq'],
  ['application/json-seq', 'application/json-seq'],
  ['text/html', 'application/json-seq'],
  ['application/*', 'application/json-seq'],
  ['application/x-ndjson', 'application/x-ndjson'],
  ['Application/NDJSON', 'application/ndjson'],
  ['application/jsonl', 'application/jsonl'],
  ['text/event-stream', 'text/event-stream'],
  ['text/*', 'text/event-stream'],
  ['text/event-stream;q=0.5, application/x-ndjson;q=0.9', 'application/x-ndjson'],
  ['text/event-stream;q=0.9, application/x-ndjson;q=0.5, */*;q=0.1', 'text/event-stream'],
  ['text/event-stream, */*;q=0.1', 'text/event-stream'],
  ['application/x-ndjson;q=0, text/event-stream;q=0', 'application/json-seq'],
  [';;;,,q=', 'application/json-seq'],
];
for (const [accept, type] of CHOICES) {
  Formats(`a client that accepts ${accept} gets ${type}`, async () => {
    const response = await post('/count_stream', { until: 1 }, accept);
    assert.is(response.status, 200);
    assert.is(response.headers.get('content-type'), type);
    await response.text();
  });
}

Formats('NDJSON has a line for each object, each in a chunk of its own', async () => {
  const { head, chunks } = await readChunks(at.port, '/count_stream', { until: 3 }, ['accept: application/x-ndjson']);
  assert.match(head, 'x-accel-buffering: no');
  assert.equal(chunks, ['{"n":0}\n', '{"n":1}\n', '{"n":2}\n']);
});

Formats('events are numbered and named, and the last one marks the end', async () => {
  const { chunks } = await readChunks(at.port, '/count_stream', { until: 2 }, ['accept: text/event-stream']);
  assert.equal(chunks, [
    'id: 1\nevent: message\ndata: {"n":0}\n\n',
    'id: 2\nevent: message\ndata: {"n":1}\n\n',
    'id: 3\nevent: done\ndata: {}\n\n',
  ]);
});

Formats('a stream of nothing is empty as NDJSON, and one event as events', async () => {
  assert.is(await (await post('/count_stream', { until: 0 }, 'application/x-ndjson')).text(), '');
  assert.is(
    await (await post('/count_stream', { until: 0 }, 'text/event-stream')).text(),
    'id: 1\nevent: done\ndata: {}\n\n',
  );
});

Formats('a failure after the first object is the last line, or the event error', async () => {
  const lines = await (await post('/count_stream', { until: 5, fail_at: 1 }, 'application/x-ndjson')).text();
  assert.is(lines, `{"n":0}\n${ERROR}\n`);
  const events = await (await post('/count_stream', { until: 5, fail_at: 1 }, 'text/event-stream')).text();
  assert.is(events, `id: 1\nevent: message\ndata: {"n":0}\n\nid: 2\nevent: error\ndata: ${ERROR}\n\n`);
});

Formats('a failure before the first object has its own status and is JSON, for every format', async () => {
  for (const accept of ['application/x-ndjson', 'text/event-stream']) {
    const response = await post('/count_stream', { until: 5, fail_at: 0 }, accept);
    assert.is(response.status, 503);
    assert.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.is(await response.text(), ERROR);
    assert.is((await post('/count_stream', {}, accept)).status, 422);
  }
});

Formats('line ends inside of a JSON text do not end its line or event', async () => {
  for (const [accept, expected] of [
    ['application/x-ndjson', '{ "a": [1, 2] }\n'],
    ['text/event-stream', 'id: 1\nevent: message\ndata: { "a": [1, 2] }\n\nid: 2\nevent: done\ndata: {}\n\n'],
  ] as const) {
    assert.is(await (await post('/pretty_stream', {}, accept)).text(), expected);
  }
  assert.is(await (await post('/pretty_stream', {}, '*/*')).text(), '{ "a":\r\n[1,\n2] }');
});

const SIGNS: [accept: string, type: string, first: string, sign: string][] = [
  ['application/x-ndjson', 'NDJSON', '{"n":0}\n', ' '],
  ['text/event-stream', 'events', 'id: 1\nevent: message\ndata: {"n":0}\n\n', ': \n\n'],
];
for (const [accept, type, first, sign] of SIGNS) {
  Formats(`a quiet stream of ${type} shows signs of life that its readers skip`, async () => {
    await using quick = await startServer({ limits: { ...LIMITS, stream_keep_alive_s: 0.02 } });
    const socket = await rawPost(quick.port, '/count_stream', { until: 2, hold_after: 0 }, [`accept: ${accept}`]);
    let text = '';
    socket.on('data', (part) => (text += String(part)));
    await eventually(() => text.split(`${sign.length.toString(16)}\r\n${sign}\r\n`).length > 3, 'signs of life');
    assert.ok(text.includes(`\r\n${first}\r\n`));
    socket.destroy();
    await eventually(() => quick.seen.closed > 0, 'the server is done with the request');
  });
}

Formats('a quiet stream of concatenated JSON stays quiet', async () => {
  await using quick = await startServer({ limits: { ...LIMITS, stream_keep_alive_s: 0.02 } });
  const socket = await rawPost(quick.port, '/count_stream', { until: 2, hold_after: 0 });
  let text = '';
  socket.on('data', (part) => (text += String(part)));
  await eventually(() => text.includes('{"n":0}'), 'the first object');
  for (let i = 0; i < 100; i++) await (await fetch(`${quick.url}/api/ready`)).text();
  assert.ok(text.endsWith('\r\n7\r\n{"n":0}\r\n'), text);
  socket.destroy();
});

Formats(
  'an object that does not match the schema is not sent: the stream ends with an error that does not show it',
  async () => {
    const expected =
      '{"error":"OutputError","message":"endpoint wrong_stream: its output does not match its ' +
      'schema","data":{},"stacktrace":null}';
    assert.is(await (await post('/wrong_stream', { from: 2 }, '*/*')).text(), `{"n":0}{"n":1}${expected}`);
    const early = await post('/wrong_stream', { from: 0 }, 'text/event-stream');
    assert.is(early.status, 500);
    assert.is(await early.text(), expected);
  },
);

Formats.run();
