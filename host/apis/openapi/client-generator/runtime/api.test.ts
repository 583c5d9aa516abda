import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Api, openFile, queryOf } from './api.ts';
import { ApiError } from './errors.ts';

const Runtime = suite('the runtime of generated clients');

/** Requests are answered with these bytes, so many at a time. */
function answering(
  text: string,
  {
    size = text.length,
    status = 200,
    headers = {},
  }: { size?: number; status?: number; headers?: Record<string, string> } = {},
): { api: Api; seen: { cancelled: boolean; requests: Request[] } } {
  const bytes = new TextEncoder().encode(text);
  const seen = { cancelled: false, requests: [] as Request[] };
  const send = async (url: unknown, init: unknown): Promise<Response> => {
    seen.requests.push(new Request(url as string, init as RequestInit));
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        at < bytes.length ? controller.enqueue(bytes.slice(at, (at += size))) : controller.close(),
      cancel: () => void (seen.cancelled = true),
    });
    return new Response(body, { status, headers });
  };
  return { api: new Api({ baseUrl: 'http://h/ai/', fetch: send as typeof fetch, apiKey: 'k' }), seen };
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const value of values) found.push(value);
  return found;
}

const VALUES = [{ a: '}"\\' }, [{ b: ['é\u2028😀', {}] }], 'text "{[', { c: null }, {}, [], 12, true, null];
const FORMS: Readonly<Record<string, string>> = {
  'with nothing between them': VALUES.slice(0, 6)
    .map((value) => JSON.stringify(value))
    .join(''),
  'a line each': `\n\n${VALUES.map((value) => `${JSON.stringify(value)}\n`).join('\n')}`,
  'and a number at the end': VALUES.map((value) => JSON.stringify(value, undefined, 2)).join('\r\n'),
};
for (const [form, text] of Object.entries(FORMS)) {
  for (const size of [1, 2, 3, 7, 1000]) {
    Runtime(`reads values ${form}, ${size} bytes at a time`, async () => {
      const read = await all(answering(text, { size }).api.stream('/s', {}));
      assert.equal(read, VALUES.slice(0, read.length));
      assert.is(read.length, form === 'with nothing between them' ? 6 : VALUES.length);
    });
  }
}

Runtime('an error at the end of a stream is thrown after the values before it', async () => {
  const { api } = answering('{"n":0}{"error":"InferenceException","message":"lost","data":{"x":1},"stacktrace":null}', {
    size: 5,
    headers: { 'x-request-id': 'r1' },
  });
  const seen: unknown[] = [];
  const failure = await (async () => {
    for await (const value of api.stream('/s', {})) seen.push(value);
  })().catch((error: unknown) => error);
  assert.ok(failure instanceof ApiError);
  assert.equal(
    [seen, failure.error, failure.message, failure.data, failure.requestId],
    [[{ n: 0 }], 'InferenceException', 'lost', { x: 1 }, 'r1'],
  );
});

Runtime('a stream that ends inside a value is an error', async () => {
  const failure = await all(answering('{"n":0}{"n":').api.stream('/s', {})).catch((error: unknown) => error);
  assert.is((failure as ApiError).error, 'IncompleteStream');
});

Runtime('leaving the loop gives the connection back', async () => {
  const { api, seen } = answering('{"n":0}{"n":1}{"n":2}', { size: 7 });
  for await (const _ of api.stream('/s', {})) break;
  assert.ok(seen.cancelled);
});

Runtime('an answer that is no error of the server is told by its status', async () => {
  const failure = await answering('<h1>Bad gateway</h1>', { status: 502, headers: { 'retry-after': '3' } })
    .api.call('/x', {})
    .catch((error: unknown) => error);
  assert.ok(failure instanceof ApiError);
  assert.equal([failure.status, failure.error, failure.retryAfter, failure.validation], [502, 'HttpError', 3, []]);
  assert.match(failure.message, 'Bad gateway');
});

Runtime('files go as parts, once each, named where the input has them; the rest is JSON', async () => {
  const { api, seen } = answering('{}');
  const clip = new Blob(['one']);
  await api.call(
    '/x',
    { a: { content: clip }, b: [clip, { c: new File(['two'], 'two.mp4') }], d: 'named' },
    { files: { named: new Blob(['three']) } },
  );
  const [request] = seen.requests;
  assert.is(request?.url, 'http://h/ai/x');
  assert.is(request?.headers.get('x-api-key'), 'k');
  const form = (await request?.formData()) as FormData;
  assert.equal(JSON.parse(String(form.get('body'))), {
    a: { content: 'file2' },
    b: ['file2', { c: 'file3' }],
    d: 'named',
  });
  assert.equal([...form.keys()], ['body', 'named', 'file2', 'file3']);
  assert.is((form.get('file3') as File).name, 'two.mp4');
  await api.call('/x', { when: new Date(0) });
  assert.is(seen.requests[1]?.headers.get('content-type'), 'application/json');
  assert.equal(await seen.requests[1]?.json(), { when: '1970-01-01T00:00:00.000Z' });
});

Runtime('a file of the disk has its name and its content', async () => {
  const file = await openFile(import.meta.filename);
  assert.match(file.name, /^api\.test\.[jt]s$/);
  assert.match(await file.text(), 'a file of the disk');
});

Runtime('an answer that is text has its media type beside it', async () => {
  const { api } = answering('a\n\u00e4', { headers: { 'content-type': 'Text/CSV; charset=utf-8' } });
  assert.equal(await api.call('/x', {}), { media_type: 'text/csv', text: 'a\n\u00e4' });
  const json = answering('{"a":1}', { headers: { 'content-type': 'application/json; charset=utf-8' } });
  assert.equal(await json.api.call('/x', {}), { a: 1 });
});

Runtime('a query has what is given', () => {
  assert.is(queryOf({ a: undefined, b: null }), '');
  assert.is(queryOf({ a: 1, b: 'x y', c: false }), '?a=1&b=x+y&c=false');
});

Runtime.run();
