// Requests that nobody should send, on the routes beside chats and responses: each gets a clear 4xx, and the server
// goes on.
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { LlamaEmbeddingDeployment, LlamaRerankDeployment } from 'aana-host';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Hostile = suite('hostile requests of the other routes');
let at: OpenAiApp;

Hostile.before(async () => {
  at = await startOpenAiApp({
    prepare: (app, tiny) => {
      const [embedder, ranker] = [join(tiny, '../embedder.gguf'), join(tiny, '../ranker.gguf')];
      writeTinyBert(embedder);
      writeTinyBert(ranker, { pooling: 'rank' });
      const model_kwargs = { n_threads: 1 };
      const user_config = { model_id: embedder, model_kwargs };
      app.registerDeployment('embedder', LlamaEmbeddingDeployment.options({ user_config }));
      app.registerDeployment(
        'ranker',
        LlamaRerankDeployment.options({ user_config: { model_id: ranker, model_kwargs } }),
      );
    },
  });
});
Hostile.after(async () => at?.[Symbol.asyncDispose]());

interface Route {
  readonly path: string;
  /** A request that the route answers with `status`. */
  readonly good: Readonly<Record<string, unknown>>;
  /** Default: 200. */
  readonly status?: number;
  /** The parameter with a text of the user. */
  readonly text: string;
  /** Members that are refused. */
  readonly refused: readonly (readonly [what: string, members: object])[];
  /** Members that are served. */
  readonly served?: readonly object[];
}

const PROMPT = { model: 'tiny', prompt: 'Once upon a time', max_tokens: 2 };
const DIALOG = { model: 'tiny', messages: [{ role: 'user', content: 'Once upon a time' }] };
const UPLOAD = { bytes: 3, filename: 'a.txt', purpose: 'user_data' };
const MANY = 100_000;
const HUGE_TOKENS = [[1e300], [2 ** 53], [2_147_483_648], [2_147_483_647], [-1], [0.5]];
const many = (item: unknown): unknown[] => Array(MANY).fill(item);
const named = (name: string, ...values: unknown[]): (readonly [string, object])[] =>
  values.map((value) => [`${name} ${JSON.stringify(value).slice(0, 30)}`, { [name]: value }]);

const ROUTES: readonly Route[] = [
  {
    path: '/v1/completions',
    good: PROMPT,
    text: 'prompt',
    refused: [
      ...named('n', 1e9),
      ...named('best_of', 1e9),
      ...named('stop', many('x')),
      ...named('prompt', ...HUGE_TOKENS, many('x'), [[1e300]], 'dog '.repeat(2000)),
      ...named('guided_json', { $ref: '#' }, { $ref: 'file:///etc/passwd' }),
      ...named('guided_regex', '(a{1000}){1000}{1000}', '(?<=a)b'),
      ...named('grammar', '\0::=(((('),
      ...named('logit_bias', Object.fromEntries(Array.from({ length: MANY }, (_, n) => [n, 1])), { __proto__x: 1 }),
      ...named('max_tokens', '1e9', -1, 1e300),
    ],
    served: [{ guided_regex: '^(a+)+b$' }, { guided_json: { type: 'array', items: { $ref: '#' } } }],
  },
  {
    path: '/v1/embeddings',
    good: { model: 'embedder', input: 'a cat' },
    text: 'input',
    refused: [
      ...named('input', ...HUGE_TOKENS, many('x'), many([1]), [[]], [null], 'cat '.repeat(2000)),
      ...named('dimensions', 1e9, -1),
    ],
  },
  {
    path: '/v1/rerank',
    good: { model: 'ranker', query: 'a cat', documents: ['the cat'] },
    text: 'query',
    refused: [...named('documents', many('x'), [], [null], [{ text: { text: 'a' } }]), ...named('top_n', -1, 1e300)],
    served: [{ top_n: 1e9 }],
  },
  {
    path: '/v1/tokenize',
    good: { model: 'tiny', prompt: 'Once' },
    text: 'prompt',
    refused: [...named('messages', [], [null]), ...named('prompt', 7, ['a'])],
  },
  {
    path: '/v1/detokenize',
    good: { model: 'tiny', tokens: [5] },
    text: 'tokens',
    refused: [...named('tokens', ...HUGE_TOKENS, 'a', Array(1_000_001).fill(5))],
  },
  {
    path: '/v1/responses/input_tokens',
    good: { model: 'tiny', input: 'Once' },
    text: 'input',
    refused: named('input', many({ role: 'user', content: 'a' }), [{ type: '__proto__' }], []),
  },
  {
    path: '/v1/messages/count_tokens',
    good: DIALOG,
    text: 'system',
    refused: named('messages', [], [{ role: 'wizard', content: 'a' }], [{ role: 'user', content: [{ type: 'x' }] }]),
  },
  {
    path: '/chat/completions',
    good: { ...DIALOG, max_tokens: 2 },
    text: 'model',
    refused: [...named('max_tokens', 1e300, -1, 'x'), ...named('temperature', 1e9), ...named('n', 1e9)],
  },
  {
    path: '/v1/batches',
    good: { input_file_id: `file-${'0'.repeat(32)}`, endpoint: '/v1/completions', completion_window: '24h' },
    status: 404,
    text: 'input_file_id',
    refused: [
      ...named('endpoint', '/v1/files', '../etc', '__proto__'),
      ...named('metadata', Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ''])), { a: 'x'.repeat(513) }),
    ],
  },
  {
    path: '/v1/realtime/client_secrets',
    good: {},
    text: 'session',
    refused: [
      ...named('expires_after', { seconds: 1e9 }, { seconds: -1 }, 600),
      ...named('session', 'x', [], {}, { type: '__proto__' }, { type: 'transcription', audio: 7 }),
    ],
  },
  {
    path: '/v1/uploads',
    good: UPLOAD,
    text: 'filename',
    refused: [...named('bytes', 1e300, 2 ** 53, -1, 0.5), ...named('filename', '', '\0', 'x'.repeat(10_000))],
  },
  {
    path: `/v1/uploads/upload_${'0'.repeat(32)}/complete`,
    good: { part_ids: [`part_${'0'.repeat(32)}`] },
    status: 404,
    text: 'md5',
    refused: [...named('part_ids', many('x'), [], [7]), ...named('md5', 'z', 'a'.repeat(1_000_000))],
  },
];

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** Bodies that no route takes. */
function hopeless({
  good,
  text,
}: Route): (readonly [what: string, status: number | undefined, body: string | Buffer])[] {
  const inner = JSON.stringify(good).slice(1, -1);
  const prefixed = (members: string): string => `{${[members, inner].filter(Boolean).join(',')}}`;
  return [
    ['64 MB', 413, prefixed(`"x":"${'x'.repeat(64 * 1024 * 1024)}"`)],
    ['an unknown parameter of a depth of 10,000', undefined, prefixed(`"x":${nested(10_000)}`)],
    [
      'a parameter of a depth of 10,000',
      undefined,
      `{${[inner, `"${text}":${nested(10_000)}`].filter(Boolean).join(',')}}`,
    ],
    ['a list of a depth of 50', undefined, JSON.stringify({ ...good, [text]: JSON.parse(nested(50)) as unknown })],
    ['half of a surrogate pair', undefined, prefixed(String.raw`"x":"\ud800"`)],
    ['half of a surrogate pair in a key', undefined, prefixed(String.raw`"\udc00":1`)],
    ['bytes that are no UTF-8', undefined, Buffer.from([0x22, 0xff, 0x22])],
    ['nothing', undefined, ''],
    ['null', undefined, 'null'],
    ['a list', undefined, '[]'],
  ];
}

async function send(path: string, body: string | Buffer): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body as string,
  });
  return { status: response.status, text: await response.text() };
}

/** Asserts a refusal, with `status` if it is given, whose message is not long. */
function assertRefused(
  answer: { readonly status: number; readonly text: string },
  what: string,
  status?: number,
): void {
  const { status: given, text } = answer;
  assert.ok(given >= 400 && given < 500, `${what}: ${given} ${text.slice(0, 500)}`);
  if (status !== undefined) assert.is(given, status, `${what}: ${text.slice(0, 500)}`);
  const { error, message } = JSON.parse(text) as { error: string | { message: string }; message?: string };
  const said = typeof error === 'string' ? message : error.message;
  assert.ok(said !== undefined && said.length > 0 && said.length < 2000, `${what}: ${text.slice(0, 500)}`);
}

for (const route of ROUTES) {
  const { path, good, status = 200, refused, served = [] } = route;
  const goesOn = async (): Promise<void> => {
    const answer = await send(path, JSON.stringify(good));
    assert.is(answer.status, status, answer.text.slice(0, 500));
  };

  Hostile(`bodies are refused by ${path}`, async () => {
    for (const [what, expected, body] of hopeless(route)) assertRefused(await send(path, body), what, expected);
    await goesOn();
  });

  Hostile(`values are refused by ${path}`, async () => {
    for (const [what, members] of refused)
      assertRefused(await send(path, JSON.stringify({ ...good, ...members })), what);
    await goesOn();
  });

  Hostile(`names of prototypes and zero bytes do no harm to ${path}`, async () => {
    const json = JSON.stringify(good);
    const prototype = await send(path, json.replace(/^\{(?!\})/, '{"__proto__":{"stream":true},'));
    // The contract of the original takes no unknown parameters.
    assert.is(prototype.status, path === '/chat/completions' ? 422 : status, prototype.text.slice(0, 500));
    const zero = await send(path, json.replace(/"(Once|a cat|tiny)/, '"$1\\u0000'));
    assert.ok(zero.status < 500, zero.text.slice(0, 500));
    if ('model' in good) assert.is((await send(path, JSON.stringify({ ...good, model: '__proto__' }))).status, 404);
    for (const members of served) assert.is((await send(path, JSON.stringify({ ...good, ...members }))).status, 200);
    await goesOn();
  });
}

const FORMS = [
  { path: '/v1/files', file: 'file', texts: { purpose: 'user_data' }, status: 200 },
  { path: '/v1/audio/translations', file: 'file', texts: { model: 'whisper-1' }, status: 404 },
  { path: `/v1/uploads/upload_${'0'.repeat(32)}/parts`, file: 'data', texts: {}, status: 404 },
] as const;

for (const { path, file, texts, status } of FORMS)
  Hostile(`forms are refused by ${path}`, async () => {
    const submit = async (more: readonly (readonly [name: string, value: string | Blob])[]) => {
      const body = new FormData();
      for (const [name, value] of [...Object.entries(texts), ...more]) body.append(name, value);
      body.append(file, new Blob(['abc']), 'a.txt');
      const response = await fetch(at.url + path, { method: 'POST', body });
      return { status: response.status, text: await response.text() };
    };
    const bytes = (...values: number[]): Blob => new Blob([Uint8Array.from(values)]);
    // The server answers and closes while the client still sends, so the client may not see the answer.
    const large = await submit([['x', 'x'.repeat(64 * 1024 * 1024)]]).catch(() => undefined);
    if (large) assertRefused(large, '64 MB of text', 413);
    assertRefused(await submit(Array.from({ length: 1000 }, () => ['x', 'a'] as const)), '1000 parts');
    assertRefused(await submit([['other', bytes(0x61)]]), 'another file', 400);
    assertRefused(await submit([[file, 'a']]), 'a text for the file', 400);
    for (const [name, value] of [
      ['__proto__', 'a'],
      ['constructor[prototype]', 'a'],
      ['x', '\0'],
      [`${'a['.repeat(10_000)}`, 'a'],
      ['x', nested(10_000)],
    ] as const) {
      const answer = await submit([[name, value]]);
      assert.ok(answer.status < 500, `${name.slice(0, 30)}: ${answer.text.slice(0, 500)}`);
    }
    const plain = await send(path, '{}');
    assertRefused(plain, 'JSON', 415);
    const good = await submit([]);
    assert.is(good.status, status, good.text.slice(0, 500));
  });

if (cannotRun !== undefined) skip('hostile requests of the other routes', cannotRun);
else Hostile.run();
