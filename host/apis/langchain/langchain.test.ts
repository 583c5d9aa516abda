// LangChain's interfaces over real deployments: what its documentation promises of a chat model, of embeddings, of a
// vector store and of a retriever.
import { join } from 'node:path';
import { InMemoryCache } from '@langchain/core/caches';
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  type ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { tool } from '@langchain/core/tools';
import { type AanaApp, Endpoint, LlamaEmbeddingDeployment, LlamaRerankDeployment, z } from 'aana-host';
import { AanaEmbeddings, AanaRetriever, AanaVectorStore, ChatAana } from 'aana-host/langchain';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { testModel } from '../../test/helpers/models.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from '../openai/fixtures/openai-app.ts';
import { RequestEmbedding } from './fixtures/request-embedding.ts';

const LangChain = suite('classes of LangChain');

const GREEDY = { temperature: 0, max_tokens: 24 };
const modelOptions = { model_kwargs: { n_ctx: 256, n_threads: 1 } };

let at: OpenAiApp;
let app: AanaApp;
let model: ChatAana;
let embeddings: AanaEmbeddings;

/** Requests share its embeddings. */
class Shared extends Endpoint {
  readonly input = z.strictObject({});
  readonly output = z.array(z.array(z.number()));

  async run(): Promise<number[][]> {
    return ofRequests().embedDocuments(Array.from({ length: 8 }, () => 'text'));
  }
}
let shared: AanaEmbeddings | undefined;
const ofRequests = (): AanaEmbeddings =>
  (shared ??= new AanaEmbeddings({ handle: app.handle('requests'), batchSize: 1, maxConcurrency: 1 }));

LangChain.before(async () => {
  const [language, embedding] = await Promise.all(['smollm2-135m-instruct', 'all-minilm-l6-v2'].map(testModel));
  at = await startOpenAiApp({
    prepare: (made, tiny) => {
      const reranker = join(tiny, '..', 'reranker.gguf');
      writeTinyBert(reranker, { pooling: 'rank' });
      made.registerDeployment('llm', llamaOptions(language!, { model_kwargs: { n_ctx: 1024, n_threads: 1 } }));
      registerEndless(made, tiny);
      made.registerDeployment(
        'embedder',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: embedding!, ...modelOptions } }),
      );
      made.registerDeployment('requests', RequestEmbedding.options());
      made.registerEndpoint({ name: 'shared', path: '/shared', endpoint_cls: Shared });
      made.registerDeployment(
        'reranker',
        LlamaRerankDeployment.options({ user_config: { model_id: reranker, ...modelOptions } }),
      );
    },
  });
  ({ app } = at);
  model = new ChatAana({ handle: app.handle('llm'), samplingParams: GREEDY });
  embeddings = new AanaEmbeddings({ handle: app.handle('embedder') });
});

LangChain.after(async () => {
  await at?.[Symbol.asyncDispose]();
});

const weather = tool(({ city }) => `It rains in ${city}.`, {
  name: 'weather',
  description: 'The weather of a city',
  schema: z.strictObject({ city: z.enum(['Bern', 'Oslo']) }),
});

LangChain('an answer is that of the deployment, with its tokens and its end', async () => {
  const messages = [new SystemMessage('You are terse.'), new HumanMessage('What is the capital of France?')];
  const answer = await model.invoke(messages);
  const direct = (await app.handle('llm').call('chat', {
    dialog: {
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: 'What is the capital of France?' },
      ],
    },
    sampling_params: GREEDY,
    details: true,
  })) as { message: { content: string }; details: { finish_reason: string; usage: Record<string, number> } };
  assert.ok(AIMessage.isInstance(answer));
  assert.is(answer.content, direct.message.content);
  assert.is(tokensOf(answer).input_tokens, direct.details.usage['prompt_tokens']);
  assert.is(tokensOf(answer).output_tokens, direct.details.usage['completion_tokens']);
  assert.is(answer.response_metadata['finish_reason'], direct.details.finish_reason);
  assert.is(answer.response_metadata['model_name'], 'llm');
});

LangChain('a stream adds up to the answer', async () => {
  const question = 'Name three colours.';
  const whole = await model.invoke(question);
  let sum: AIMessageChunk | undefined;
  let pieces = 0;
  for await (const chunk of await model.stream(question)) {
    sum = sum ? sum.concat(chunk) : chunk;
    pieces += 1;
  }
  assert.ok(pieces > 5, `${pieces} pieces`);
  assert.is(sum?.content, whole.content);
  assert.is(tokensOf(sum).output_tokens, tokensOf(whole).output_tokens);
  assert.is(sum?.response_metadata['finish_reason'], whole.response_metadata['finish_reason']);
});

LangChain('a chain of a prompt, the model and a parser answers, also for a list', async () => {
  const chain = ChatPromptTemplate.fromMessages([
    ['system', 'You are terse.'],
    ['human', 'What is the capital of {country}?'],
  ])
    .pipe(model)
    .pipe(new StringOutputParser());
  const [france, norway] = await chain.batch([{ country: 'France' }, { country: 'Norway' }], { maxConcurrency: 1 });
  assert.match(france!, /Paris/);
  assert.match(norway!, /Oslo/);
});

LangChain('a cache does not mix models', async () => {
  const cache = new InMemoryCache();
  const texts = await Promise.all(
    [app.handle('llm'), app.handle('tiny')].map(async (handle) => {
      const cached = new ChatAana({ handle, samplingParams: GREEDY, cache });
      const [first, again] = [await cached.invoke('Name a colour.'), await cached.invoke('Name a colour.')];
      assert.is(again.text, first.text);
      const brief = new ChatAana({ handle, samplingParams: { ...GREEDY, max_tokens: 1 }, cache });
      assert.is.not((await brief.invoke('Name a colour.')).text, first.text);
      return first.text;
    }),
  );
  assert.is.not(texts[0], texts[1]);
});

LangChain('callbacks hear tokens and the end', async () => {
  const tokens: string[] = [];
  let ended = '';
  const callbacks = [
    {
      handleLLMNewToken: (token: string) => void tokens.push(token),
      handleLLMEnd: ({ generations }: { generations: { text: string }[][] }) => void (ended = generations[0]![0]!.text),
    },
  ];
  for await (const _ of await model.stream('Name a colour.', { callbacks })) void _;
  assert.is(tokens.join(''), ended);
  assert.ok(ended.length > 0);
});

LangChain('tools are called, in whole answers and in streams, and their results are read', async () => {
  const bound = model.bindTools([weather], {
    tool_choice: 'any',
    parallel_tool_calls: false,
    samplingParams: { max_tokens: 60 },
  });
  const question = 'Use the tool: what is the weather in Oslo?';
  const answer = await bound.invoke(question);
  const [call] = answer.tool_calls ?? [];
  assert.is(call?.name, 'weather');
  assert.ok(['Bern', 'Oslo'].includes(String(call?.args['city'])));
  let sum: AIMessageChunk | undefined;
  for await (const chunk of await bound.stream(question)) sum = sum ? sum.concat(chunk) : chunk;
  const callsOf = (message: AIMessage | AIMessageChunk | undefined): unknown[] =>
    (message?.tool_calls ?? []).map(({ name, args }) => ({ name, args }));
  assert.equal(callsOf(sum), callsOf(answer));
  const result = (await weather.invoke(call!)) as ToolMessage;
  const told = await model.invoke([new HumanMessage(question), answer, result]);
  assert.ok(told.text.length > 0);
  const once = { tool_choice: 'weather', parallel_tool_calls: false };
  const named = await model.bindTools([weather], { ...once, samplingParams: { max_tokens: 60 } }).invoke(question);
  assert.is(named.tool_calls?.[0]?.name, 'weather');
  const cut = await model.bindTools([weather], { ...once, samplingParams: { max_tokens: 16 } }).invoke(question);
  assert.equal(cut.tool_calls, []);
  assert.is((cut as AIMessage).invalid_tool_calls?.[0]?.name, 'weather');
});

LangChain('answers have the form of a schema', async () => {
  const City = z.object({ city: z.enum(['Paris', 'Rome']), inhabitants: z.number().int().min(1).max(9) });
  const longer = new ChatAana({ handle: app.handle('llm'), samplingParams: { temperature: 0, max_tokens: 60 } });
  const city = await longer.withStructuredOutput(City).invoke('A city of France');
  assert.equal(City.parse(city), city);
  const both = await longer.withStructuredOutput(z.toJSONSchema(City), { includeRaw: true }).invoke('A city of France');
  assert.equal(both.parsed, city);
  assert.ok(AIMessage.isInstance(both.raw) || AIMessageChunk.isInstance(both.raw));
  const called = await longer.withStructuredOutput(City, { method: 'functionCalling' }).invoke('A city of France');
  assert.equal(City.parse(called), called);
});

LangChain('who aborts or leaves ends the call in the engine', async () => {
  const endless = new ChatAana({ handle: app.handle('endless') });
  const called = errorOf(endless.invoke('Go on', { signal: AbortSignal.timeout(200) }), Error);
  assert.match((await called).message, /abort|timeout/i);
  for await (const _ of await endless.stream('Go on')) break;
  // The model has one place: this call begins when both have ended.
  const brief = await endless.invoke('Go on', { samplingParams: { max_tokens: 1 } });
  assert.is(tokensOf(brief).output_tokens, 1);
});

LangChain('what the model cannot take is an error that names it', async () => {
  const wrong = async (made: Promise<unknown>, message: RegExp): Promise<void> => {
    const error = await errorOf(made);
    assert.is(error.name, 'ValidationError');
    assert.match(error.message, message);
  };
  await wrong(model.invoke('Hi', { samplingParams: { temperature: 9 } }), /temperature/);
  await wrong(model.invoke('Hi', { samplingParams: { n: 2 } }), /batch\(\)/);
  const image = { type: 'image_url', image_url: 'http://example.org/cat.png' };
  await wrong(model.invoke([new HumanMessage({ content: [image] })]), /messages\[0\]\.content\[0\].*"image_url"/);
  await wrong(model.invoke([new ChatMessage('Hi', 'robot')]), /robot/);
});

LangChain('vectors of questions and of documents are in one space, whatever the batches', async () => {
  const texts = ['green tea', 'black tea', 'a bicycle', '日本語', ''.padEnd(40, 'word ')];
  const whole = await embeddings.embedDocuments(texts);
  const small = new AanaEmbeddings({ handle: app.handle('embedder'), batchSize: 2 });
  const parts = await small.embedDocuments(texts);
  assert.is(whole.length, texts.length);
  for (const [n, vector] of whole.entries()) assert.ok(cosine(vector, parts[n]!) > 0.999);
  assert.ok(cosine(whole[0]!, await embeddings.embedQuery('green tea')) > 0.999);
  assert.equal(await embeddings.embedDocuments([]), []);
});

LangChain('texts are embedded for the request whose code asks, and no more after a failure', async () => {
  const ids = [1, 2, 3];
  const answers = await Promise.all(ids.map((id) => at.post('/shared', {}, { 'x-request-id': String(id) })));
  for (const [n, answer] of answers.entries()) {
    const vectors = (await answer.json()) as number[][];
    assert.equal(new Set(vectors.map(([id]) => id)), new Set([ids[n]]));
  }
  const before = async (): Promise<number> => (await ofRequests().embedQuery('text'))[1]!;
  const first = await before();
  await errorOf(ofRequests().embedDocuments(['', ...Array.from({ length: 20 }, () => 'text')]), Error);
  await ofRequests().embedDocuments(['text']); // would wait behind the others
  assert.is(await before(), first + 2);
});

LangChain('numbers that cannot be are named', async () => {
  const handle = app.handle('embedder');
  for (const value of [0, -1, 1.5, NaN, 2049, '2' as never]) {
    assert.throws(() => new AanaEmbeddings({ handle, batchSize: value }), /^batchSize: .*2048, not/);
    assert.throws(() => new AanaEmbeddings({ handle, maxConcurrency: value }), /^maxConcurrency: /);
    const vectorStore = new AanaVectorStore(embeddings, { storage: app.storage, collection: 'x' });
    assert.throws(() => new AanaRetriever({ vectorStore, k: value }), /^k: .*from 1 to 100/);
    assert.throws(() => new AanaRetriever({ vectorStore, fetchK: value }), /^fetchK: .*from 4 to 100/);
  }
});

LangChain('a vector store finds, filters, replaces and removes documents', async () => {
  const store = await AanaVectorStore.fromTexts(
    ['Green tea needs water of 75 degrees.', 'A bicycle has two wheels.', 'Black tea needs boiling water.'],
    [
      { kind: 'tea', loc: { page: 1 } },
      { kind: 'vehicle', tags: ['a', 'b'] },
      { kind: 'tea', loc: { page: 2 } },
    ],
    embeddings,
    { storage: app.storage, collection: 'things' },
  );
  const [best] = await store.similaritySearchWithScore('How hot is the water for green tea?', 1);
  assert.is(best?.[0].pageContent, 'Green tea needs water of 75 degrees.');
  assert.ok(best![1] > 0.5 && best![1] <= 1);
  const filter = { type: 'eq', key: 'loc.page', value: 2 } as const;
  const found = await store.similaritySearch('green tea', 5, filter);
  assert.equal(
    found.map(({ metadata }) => metadata),
    [{ kind: 'tea', 'loc.page': 2 }],
  );
  assert.equal(await store.addDocuments([{ pageContent: 'A car has four wheels.', metadata: {} }], { ids: ['car'] }), [
    'car',
  ]);
  await store.addDocuments([{ pageContent: 'A lorry has six wheels.', metadata: {}, id: 'car' }]);
  const [wheels] = await store.similaritySearch('How many wheels has a lorry?', 1);
  assert.is(wheels?.id, 'car');
  assert.is(wheels?.pageContent, 'A lorry has six wheels.');
  await store.delete({ ids: ['car', 'unknown'] });
  assert.is((await store.similaritySearch('wheels', 10)).length, 3);
  assert.match((await store.asRetriever(1).invoke('bicycle'))[0]!.pageContent, /bicycle/);
});

LangChain('a vector store refuses documents before it embeds them, and names what is wrong', async () => {
  let embedded = 0;
  const counting = {
    embedDocuments: async (texts: string[]) => embeddings.embedDocuments(texts.slice((embedded += 1))),
    embedQuery: async (text: string) => embeddings.embedQuery(text),
  };
  const store = new AanaVectorStore(counting, { storage: app.storage, collection: 'refused', model: 'embedder' });
  const circle: Record<string, unknown> = {};
  circle['own'] = circle;
  for (const [metadata, message] of [
    [Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, n])), 'it has 17 keys, and may have 16'],
    [{ pdf: { title: 'x'.repeat(513) } }, '["pdf.title"]: it has 513 characters, and may have 512'],
    [{ 'loc.page': 1, loc: { page: 2 } }, 'two values have the path "loc.page"'],
    [circle, 'it has more than 64 levels'],
    [{ n: 5n }, '["n"]: it must be a text, a finite number, true or false'],
    [{ n: NaN }, '["n"]: it must be a text, a finite number, true or false'],
  ] as const) {
    const error = await errorOf(
      store.addDocuments([
        { pageContent: 'a', metadata: {} },
        { pageContent: 'b', metadata },
      ]),
    );
    assert.equal([error.name, error.message.startsWith('documents[1].metadata')], ['ValidationError', true]);
    assert.ok(error.message.endsWith(message), error.message);
  }
  const ids = await errorOf(store.addDocuments([{ pageContent: 'a', metadata: {} }], { ids: [] }));
  assert.match(ids.message, /^ids: there are 0 for 1 documents$/);
  assert.is((await errorOf(store.delete())).message, 'ids: name the documents to delete');
  assert.is((await errorOf(store.delete({}))).message, 'ids: name the documents to delete');
  assert.is(embedded, 0);
});

LangChain('a store without documents finds nothing, and one of another model refuses', async () => {
  const empty = new AanaVectorStore(embeddings, { storage: app.storage, collection: 'nothing' });
  assert.equal(await empty.similaritySearch('tea'), []);
  assert.equal(await empty.addDocuments([]), []);
  const other = new AanaVectorStore(embeddings, { storage: app.storage, collection: 'things', model: 'another' });
  assert.is((await errorOf(other.similaritySearch('tea'))).name, 'VectorModelMismatch');
  const nameless = { embedQuery: async () => [1], embedDocuments: async () => [[1]] };
  assert.throws(() => new AanaVectorStore(nameless, { storage: app.storage, collection: 'x' }), /model: name what/);
});

LangChain('a retriever finds by meaning and by words, and a reranker orders what it found', async () => {
  const store = await AanaVectorStore.fromTexts(
    ['Error E4711 means that the disk is full.', 'The network is away.', 'Somebody has unplugged the printer.'],
    [],
    embeddings,
    { storage: app.storage, collection: 'errors' },
  );
  const [first] = await new AanaRetriever({ vectorStore: store, k: 1 }).invoke('E4711');
  assert.match(first!.pageContent, /E4711/);
  const rerank = app.handle('reranker');
  const ranked = await new AanaRetriever({ vectorStore: store, rerank, k: 2 }).invoke('printer');
  const documents = await new AanaRetriever({ vectorStore: store, k: 3 }).invoke('printer');
  const { results } = (await rerank.call('rerank', {
    query: 'printer',
    documents: documents.map(({ pageContent }) => pageContent),
    top_n: 2,
  })) as { results: { index: number }[] };
  assert.equal(
    ranked.map(({ id }) => id),
    results.map(({ index }) => documents[index]!.id),
  );
});

/** The types of LangChain lose this property where absent and undefined are different types. */
const tokensOf = (message: object | undefined): UsageMetadata =>
  (message as { usage_metadata: UsageMetadata }).usage_metadata;

function cosine(one: readonly number[], other: readonly number[]): number {
  let [product, squares, others] = [0, 0, 0];
  for (const [n, value] of one.entries()) {
    product += value * other[n]!;
    squares += value * value;
    others += other[n]! ** 2;
  }
  return product / Math.sqrt(squares * others);
}

LangChain.run();
