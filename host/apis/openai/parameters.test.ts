// Every parameter of the documentation has the state that the documentation says, on real servers.
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import {
  type AanaApp,
  LlamaEmbeddingDeployment,
  LlamaRerankDeployment,
  SpeakerDiarizationDeployment,
  WhisperDeployment,
} from 'aana-host';
import { ModelStore } from '../../setup/models/index.ts';
import { type DocumentedRoute, documentedRoutes } from '../http/fixtures/documented-routes.ts';
import { skip } from '../../test/skip.ts';
import { type AudioApp, startAudioApp } from './fixtures/audio-app.ts';
import { llamaOptions, type OpenAiApp } from './fixtures/openai-app.ts';
import {
  FLAT_TOOL,
  type Members,
  PARAMETER_SAMPLES,
  postForm,
  type RouteSamples,
  SILENCE,
  WRONG,
} from './fixtures/parameter-samples.ts';
import { IGNORED_HEADER } from './http/openai-request.ts';

const Parameters = suite('parameters of OpenAI’s API');
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger, offline: true });
const canTranslate = cannotRun === undefined && (await store.resolve('whisper-base:q8_0')) !== undefined;
let lenient: AudioApp;
let strict: AudioApp;

Parameters.before(async () => {
  [lenient, strict] = await Promise.all([start(false), start(true)]);
});
Parameters.after(async () => {
  await lenient?.[Symbol.asyncDispose]();
  await strict?.[Symbol.asyncDispose]();
});

function start(isStrict: boolean): Promise<AudioApp> {
  return startAudioApp({ config: { openai: { strict: isStrict } }, prepare: registerModels });
}

function registerModels(app: AanaApp, tiny: string): void {
  const [embedder, ranker] = [join(tiny, '../embedder.gguf'), join(tiny, '../ranker.gguf')];
  const filler = join(tiny, '../filler.gguf');
  writeTinyLlama(filler, { fillsGaps: true });
  app.registerDeployment('filler', llamaOptions(filler));
  writeTinyBert(embedder);
  writeTinyBert(ranker, { pooling: 'rank' });
  const model_kwargs = { n_threads: 1 };
  const embedding = { model_id: embedder, model_kwargs, prompts: { query: 'a ' } };
  app.registerDeployment('embedder', LlamaEmbeddingDeployment.options({ user_config: embedding }));
  app.registerDeployment('ranker', LlamaRerankDeployment.options({ user_config: { model_id: ranker, model_kwargs } }));
  app.registerDeployment('speakers', SpeakerDiarizationDeployment.options({ user_config: { threads: 1 } }));
  if (canTranslate)
    app.registerDeployment(
      'many',
      WhisperDeployment.options({ user_config: { model_size: 'base', compute_type: 'q8_0', threads: 1 } }),
    );
}

interface Answer {
  readonly status: number;
  /** The names in the header for parameters without effect. */
  readonly ignored: readonly string[];
  readonly text: string;
}

type Maker = (at: OpenAiApp, base?: Members) => Promise<unknown>;
const isMaker = (value: unknown): value is Maker => typeof value === 'function';

/** Sends the request of a route with further parameters. */
async function send(at: OpenAiApp, route: string, samples: RouteSamples, more: Members): Promise<Answer> {
  const base = isMaker(samples.base) ? ((await samples.base(at)) as Members) : (samples.base as Members);
  const members: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const [outer = '', inner] = name.split('.');
    const given = isMaker(value) ? await value(at, base) : value;
    if (inner === undefined) members[outer] = given;
    else if (outer === 'tools[]') members['tools'] = withMember(members['tools'], inner, given);
    else members[outer] = { ...(members[outer] as Members), [inner]: given };
  }
  const path = route.replace(/^POST /, '').replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(members[name]);
    delete members[name];
    return value;
  });
  const { file } = samples;
  if (file) delete members[file];
  const response = file
    ? await postForm(at.url + path, file, SILENCE, Object.entries(members).flatMap(formTexts))
    : await at.post(path, members);
  const ignored = response.headers.get(IGNORED_HEADER)?.split(', ') ?? [];
  return { status: response.status, ignored, text: await response.text() };
}

/** Returns a list of one tool with a further member. */
function withMember(tools: unknown, name: string, value: unknown): object[] {
  const [tool = FLAT_TOOL] = (tools ?? []) as object[];
  return [{ ...tool, [name]: value }];
}

/** Returns the parts of a form for a parameter. */
function formTexts([name, value]: [string, unknown]): [string, string][] {
  if (Array.isArray(value)) return value.map((item) => [`${name}[]`, String(item)]);
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).map(([key, item]) => [`${name}[${key}]`, String(item)]);
}

/** Asserts that a request was served, and that the header names these parameters. */
function assertServed({ status, ignored, text }: Answer, names: readonly string[], what: string): void {
  assert.is(status, 200, `${what}: ${text.slice(0, 500)}`);
  assert.equal(ignored, names, what);
  assert.not.match(text, /^data: \{"error"/m, what);
}

/** Asserts that a request was refused because of a parameter. */
function assertRefused({ status, text }: Answer, name: string, what: string, code?: string): void {
  assert.ok(status === 400 || status === 404, `${what}: ${status} ${text.slice(0, 500)}`);
  const { error } = JSON.parse(text) as { readonly error: { readonly param: string | null; readonly code: string } };
  const param = name.includes('.') ? error.param?.replace('[0]', '[]') : error.param?.split(/[.[]/)[0];
  assert.is(param, name, `${what}: ${text.slice(0, 500)}`);
  if (code !== undefined) assert.equal([status, error.code], [400, code], what);
}

function addTests({ route, fields: { schema, idle }, alias }: DocumentedRoute, samples: RouteSamples): void {
  const { effective } = samples;

  Parameters(`all of ${route} have samples`, () => {
    assert.equal(Object.keys(effective).toSorted(), Object.keys(schema.shape).toSorted());
    const known = Object.entries(idle).filter(([name]) => Object.hasOwn(samples.idle, name));
    assert.is(known.length, Object.keys(idle).length, Object.keys(idle).join(' '));
  });

  Parameters(`with an effect are served by ${route} and not named`, async () => {
    for (const [name, sample] of Object.entries(effective))
      assertServed(await send(lenient, route, samples, { ...sample.with, [name]: sample.value }), [], name);
  });

  Parameters(`with an effect are checked by ${route}`, async () => {
    for (const [name, { wrong = WRONG, with: more }] of Object.entries(effective)) {
      if (name === samples.file) continue;
      assertRefused(await send(lenient, route, samples, { ...more, [name]: wrong }), name, name);
    }
  });

  Parameters(`with an effect are served by ${route} of a strict server`, async () => {
    assertServed(await send(strict, route, samples, {}), [], route);
    if (alias !== undefined) assertServed(await send(strict, `POST ${alias}`, samples, {}), [], alias);
  });

  Parameters(`without effect are named by ${route}, and refused by a strict server`, async () => {
    for (const [name, { isHarmless, isRefused }] of Object.entries(idle)) {
      const more = { [name]: samples.idle[name] };
      const answers = [await send(lenient, route, samples, more), await send(strict, route, samples, more)] as const;
      if (isHarmless) for (const answer of answers) assertServed(answer, [], name);
      else {
        if (isRefused) assertRefused(answers[0], name, name, 'unsupported_parameter');
        else assertServed(answers[0], [name], name);
        assertRefused(answers[1], name, name, 'unsupported_parameter');
      }
    }
    const unknown = { surprise: 'yes' };
    assertServed(await send(lenient, route, samples, unknown), ['surprise'], 'an unknown parameter');
    assertRefused(await send(strict, route, samples, unknown), 'surprise', 'an unknown one', 'unsupported_parameter');
  });

  Parameters(`that ask for what happens anyway are not named by ${route}`, async () => {
    const together = Object.entries(idle).flatMap(([name, { neutral }]) => (neutral ? [[name, neutral[0]]] : []));
    assertServed(await send(strict, route, samples, Object.fromEntries(together)), [], route);
    if (samples.file) return; // audio takes longer
    for (const [name, { neutral = [] }] of Object.entries(idle))
      for (const value of [...neutral, null])
        assertServed(await send(strict, route, samples, { [name]: value }), [], `${name}: ${JSON.stringify(value)}`);
  });
}

const STORE_PAGE = {
  after: [`vs_${'0'.repeat(32)}`, 'x'],
  before: [`vs_${'0'.repeat(32)}`, 'x'],
  limit: ['5', '101'],
  order: ['asc', 'up'],
} as const;
const STORE_FILE_PAGE = {
  ...STORE_PAGE,
  after: [`file-${'0'.repeat(32)}`, 'x'],
  before: [`file-${'0'.repeat(32)}`, 'x'],
  filter: ['failed', 'no'],
} as const;

/** For each parameter of a query a value, which is the first id of the list if it is empty, and a wrong one. */
const QUERY_VALUES: Readonly<Record<string, Readonly<Record<string, readonly [value: string, wrong: string]>>>> = {
  'GET /v1/responses/{response_id}': {
    stream: ['false', 'perhaps'],
    starting_after: ['0&stream=true', '-1'],
  },
  'GET /v1/responses/{response_id}/input_items': {
    after: ['', 'x'.repeat(257)],
    limit: ['5', '101'],
    order: ['asc', 'up'],
  },
  'GET /v1/files': {
    after: [`file-${'0'.repeat(32)}`, 'x'],
    limit: ['5', '0'],
    order: ['asc', 'up'],
    purpose: ['batch', '%00'],
  },
  'GET /v1/vector_stores': STORE_PAGE,
  'GET /v1/vector_stores/{vector_store_id}/files': STORE_FILE_PAGE,
  'GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files': STORE_FILE_PAGE,
  'GET /v1/batches': { after: [`batch_${'0'.repeat(32)}`, 'x'], limit: ['5', '1e9'] },
};

for (const { route, fields } of documentedRoutes('openai', 'query').filter(({ route }) => !route.endsWith('/realtime')))
  Parameters(`of the query of ${route} have their state`, async () => {
    const values = QUERY_VALUES[route] ?? {};
    assert.equal(Object.keys(values).toSorted(), Object.keys(fields.schema.shape).toSorted());
    const made = await lenient.client.responses.create({
      model: 'tiny',
      input: 'Once',
      max_output_tokens: 1,
      background: true,
      stream: true,
    });
    let id = '';
    for await (const event of made) if (event.type === 'response.created') ({ id } = event.response);
    const store = await lenient.client.vectorStores.create({});
    const file = await lenient.client.files.create({ file: new File(['a'], 'a.txt'), purpose: 'user_data' });
    const batch = await lenient.client.vectorStores.fileBatches.create(store.id, { file_ids: [file.id] });
    const ids: Readonly<Record<string, string>> = { response_id: id, vector_store_id: store.id, batch_id: batch.id };
    const path = route.slice(4).replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
    const get = async (query: string): Promise<Response> => fetch(`${lenient.url}${path}?${query}`);
    const { first_id: first } = (await (await get('')).json()) as { readonly first_id?: string };
    for (const [name, [value, wrong]] of Object.entries(values)) {
      const served = await get(`${name}=${value || first}`);
      assert.is(served.status, 200, `${name}: ${await served.text()}`);
      const refused = await get(`${name}=${wrong}`);
      const { error } = (await refused.json()) as { readonly error: { readonly param: string } };
      assert.equal([refused.status, error.param], [400, name]);
    }
    for (const name of Object.keys(fields.idle)) {
      const accepted = await get(`${name}=true`);
      assert.is(accepted.status, 200, `${name}: ${await accepted.text()}`);
    }
  });

for (const route of documentedRoutes('openai', 'body')) {
  const samples = PARAMETER_SAMPLES[route.route];
  if (!samples) throw new Error(`${route.route} has no samples`);
  if (!canTranslate && route.route.endsWith('/translations')) {
    skip('parameters of translations', cannotRun ?? 'the model whisper-base is not on this machine');
    continue;
  }
  addTests(route, samples);
}

if (cannotRun !== undefined) skip('parameters of OpenAI’s API', cannotRun);
else Parameters.run();
