// Embeddings and rankings with the official client against real models over a real socket.
import { join } from 'node:path';
import type OpenAI from 'openai';
import { APIError, BadRequestError, NotFoundError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../../native/lib/fixtures/tiny-embedding.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { LlamaEmbeddingDeployment, LlamaRerankDeployment } from 'aana-host';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Vectors = suite('embeddings and rankings with the official client');
const EMBEDDER = 'all-minilm-l6-v2';
let at: OpenAiApp;
let client: OpenAI;

Vectors.before(async () => {
  const path = await testModel(EMBEDDER);
  const modelKwargs = { n_threads: 1 };
  at = await startOpenAiApp({
    config: { openai: { aliases: { 'text-embedding-3-small': 'minilm' } } },
    prepare: (app, tiny) => {
      const ranker = join(tiny, '../ranker.gguf');
      writeTinyBert(ranker, { pooling: 'rank' });
      app.registerDeployment(
        'minilm',
        LlamaEmbeddingDeployment.options({
          user_config: {
            model_id: path,
            model_kwargs: { ...modelKwargs, n_ctx: 256 },
            prompts: { query: 'query: ' },
          },
        }),
      );
      app.registerDeployment(
        'ranker',
        LlamaRerankDeployment.options({ user_config: { model_id: ranker, model_kwargs: modelKwargs } }),
      );
    },
  });
  client = at.client;
});
Vectors.after(async () => at?.[Symbol.asyncDispose]());

const model = 'text-embedding-3-small';
/** The tokens of `A cat.` */
const CAT = [101, 1037, 4937, 1012, 102];
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);

async function failure(promise: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  const result = await promise.then(
    (value) => new Error(`it answered ${JSON.stringify(value).slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  if (result instanceof APIError) return result;
  throw result;
}

Vectors('a text, texts, tokens and lists of tokens get the same vectors', async () => {
  const inputs = ['A cat.', ['A cat.', 'A dog.'], CAT, [CAT, CAT.slice(1, -1)]];
  const vectors: number[][] = [];
  for (const [n, input] of inputs.entries()) {
    const answer = await client.embeddings.create({ model, input });
    assert.equal([answer.object, answer.model], ['list', model]);
    assert.equal(
      answer.data.map(({ object, index }) => [object, index]),
      answer.data.map((_, index) => ['embedding', index]),
    );
    assert.is(answer.data.length, [1, 2, 1, 2][n]);
    assert.equal(answer.usage, { prompt_tokens: [5, 10, 5, 8][n]!, total_tokens: [5, 10, 5, 8][n]! });
    vectors.push(answer.data[0]!.embedding);
  }
  for (const vector of vectors) {
    assert.is(vector.length, 384);
    assert.ok(1 - dot(vector, vectors[0]!) < 1e-5);
  }
});

Vectors('both formats have the same numbers', async () => {
  const float = await client.embeddings.create({ model, input: 'A cat.', encoding_format: 'float' });
  const base64 = await client.embeddings.create({ model, input: 'A cat.', encoding_format: 'base64' });
  const text = base64.data[0]!.embedding as unknown as string;
  const bytes = Buffer.from(text, 'base64');
  const numbers = float.data[0]!.embedding.map((_, index) => bytes.readFloatLE(index * 4));
  assert.equal(numbers, float.data[0]!.embedding.map(Math.fround));
});

Vectors('a vector has the dimensions and the length that the request asks for', async () => {
  const short = await client.embeddings.create({ model, input: 'A cat.', dimensions: 64, user: 'ada' });
  const vector = short.data[0]!.embedding;
  assert.is(vector.length, 64);
  assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-5);
  const response = await at.post('/v1/embeddings', {
    ...{ model, input: 'A cat.', normalize: false, prompt_name: 'query', user: 'ada', embd_normalize: -1 },
  });
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'embd_normalize');
  const { data, usage } = (await response.json()) as OpenAI.CreateEmbeddingResponse;
  assert.ok(Math.abs(dot(data[0]!.embedding, data[0]!.embedding) - 1) > 0.01);
  assert.is(usage.prompt_tokens, 7);
});

Vectors('two thousand texts are one request', async () => {
  const input = Array.from({ length: 2000 }, (_, n) => `cat ${n}`);
  const { data } = await client.embeddings.create({ model, input, dimensions: 8 });
  assert.is(data.length, 2000);
  const alone = await client.embeddings.create({ model, input: input[1234]!, dimensions: 8 });
  assert.ok(1 - dot(data[1234]!.embedding, alone.data[0]!.embedding) < 1e-4);
});

Vectors('an empty text has a vector', async () => {
  const { data, usage } = await client.embeddings.create({ model, input: '' });
  assert.equal([data[0]!.embedding.length, usage.prompt_tokens], [384, 2]);
});

Vectors('wrong inputs are refused with their place', async () => {
  const cases: [more: object, param: string, message: RegExp][] = [
    [{ input: [] }, 'input', /at least one/],
    [{ input: [[]] }, 'input[0]', /at least one token/],
    [{ input: [1, 'a'] }, 'input[1]', /whole number/],
    [{ input: [[1], [2, -1]] }, 'input[1][1]', /whole number/],
    [{ input: [[1], 'a'] }, 'input[1]', /list of tokens/],
    [{ input: ['a', [1]] }, 'input[1]', /a text/],
    [{ input: [{}] }, 'input[0]', /a text/],
    [{ input: 5 }, 'input', /./],
    [{ input: undefined }, 'input', /required/i],
    [{ input: Array(2049).fill('a') }, 'input', /2049 items; a request can have 2048/],
    [{ input: Array.from({ length: 20_000 }, () => ({})) }, 'input', /20000 items/],
    [{ input: [101, 30_522] }, 'input', /token 30522, but the tokens of the model are 0 to 30521/],
    [{ input: [101, 2 ** 40] }, 'input[1]', /whole number/],
    [{ input: 'cat '.repeat(300) }, 'input', /302 tokens, the limit is 256/],
    [{ dimensions: 385 }, 'dimensions', /384 dimensions, fewer than 385/],
    [{ dimensions: 0 }, 'dimensions', /./],
    [{ encoding_format: 'hex' }, 'encoding_format', /./],
    [{ prompt_name: 'x' }, 'prompt_name', /no prompt "x"/],
    [{ model: undefined }, 'model', /required/i],
  ];
  for (const [more, param, message] of cases) {
    const response = await at.post('/v1/embeddings', { model, input: 'a', ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 100)}: ${text}`);
    const { error } = JSON.parse(text) as { error: { type: string; param: string; message: string } };
    assert.equal([error.type, error.param], ['invalid_request_error', param], text);
    assert.match(error.message, message);
  }
});

Vectors('errors are the typed exceptions of the client', async () => {
  const wrong = await failure(client.embeddings.create({ model, input: 'a', dimensions: 4096 }));
  assert.instance(wrong, BadRequestError);
  assert.is(wrong.param, 'dimensions');
  const long = await failure(client.embeddings.create({ model, input: 'cat '.repeat(300) }));
  assert.is(long.code, 'context_length_exceeded');
  const other = await failure(client.embeddings.create({ model: 'ranker', input: 'a' }));
  assert.instance(other, NotFoundError);
  assert.match(other.message, /ranker, which cannot do embeddings: the models are minilm, text-embedding-3-small/);
});

const DOCUMENTS = ['the cat sat on the house', { text: 'a big red dog', id: 7 }, 'who is it', 'the bird ran'];

interface RankingAnswer {
  readonly results: readonly { index: number; relevance_score: number; document?: object }[];
  readonly usage: { readonly total_tokens: number };
}

Vectors('documents are ranked, with the best first', async () => {
  for (const path of ['/rerank', '/reranking']) {
    const whole = (await client.post(path, {
      body: { model: 'ranker', query: 'the cat', documents: DOCUMENTS, return_documents: true },
    })) as RankingAnswer;
    const scores = whole.results.map(({ relevance_score: score }) => score);
    assert.equal(whole.results.map(({ index }) => index).sort(), [0, 1, 2, 3]);
    assert.equal(
      scores,
      scores.toSorted((a, b) => b - a),
    );
    assert.ok(scores.every((score) => score > 0 && score < 1) && whole.usage.total_tokens > 20);
    for (const { index, document } of whole.results)
      assert.equal(document, typeof DOCUMENTS[index] === 'string' ? { text: DOCUMENTS[index] } : DOCUMENTS[index]);

    const top = (await client.post(path, {
      body: { model: 'ranker', query: 'the cat', documents: DOCUMENTS, top_n: 2 },
    })) as RankingAnswer;
    assert.equal(
      top.results,
      whole.results.slice(0, 2).map(({ index, relevance_score }) => ({ index, relevance_score })),
    );
    const many = (await client.post(path, {
      body: { model: 'ranker', query: 'the cat', documents: DOCUMENTS, top_n: 5000, truncate: 'end' },
    })) as RankingAnswer;
    assert.is(many.results.length, 4);
  }
});

Vectors('wrong rankings are refused with the parameter', async () => {
  const cases: [more: object, param: string, message: RegExp][] = [
    [{ documents: [] }, 'documents', /at least one/],
    [{ documents: ['a', { title: 'x' }] }, 'documents[1]', /key `text`/],
    [{ documents: ['a', null] }, 'documents[1]', /a text/],
    [{ documents: 'a' }, 'documents', /./],
    [{ documents: Array(2049).fill('a') }, 'documents', /at most 2048 items/],
    [{ documents: ['the cat '.repeat(1000)] }, 'documents', /tokens/],
    [{ query: undefined }, 'query', /required/i],
    [{ top_n: 0 }, 'top_n', /./],
  ];
  for (const [more, param, message] of cases) {
    const response = await at.post('/v1/rerank', { model: 'ranker', query: 'a', documents: ['a'], ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 100)}: ${text}`);
    const { error } = JSON.parse(text) as { error: { param: string; message: string } };
    assert.is(error.param, param, text);
    assert.match(error.message, message);
  }
});

Vectors('models say that they can do embeddings or rank documents', async () => {
  const able: Record<string, unknown> = {};
  for await (const one of client.models.list())
    able[one.id] = (one as unknown as { capabilities: unknown }).capabilities;
  assert.equal([able['minilm'], able['ranker'], able[model]], [['embeddings'], ['rerank'], ['embeddings']]);
});

if (cannotRun !== undefined) skip('embeddings and rankings with the official client', cannotRun);
else Vectors.run();
