import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { findModel, modelNames, resolveModel } from './model-names.ts';
import type { ModelAlias, ModelDirectory, ServedModel } from '../../../inference/deployments/index.ts';

const TEXT = ['chat', 'chat_stream', 'generate', 'generate_stream'];

function model(name: string, methods: readonly string[], more: Partial<ServedModel> = {}): ServedModel {
  return {
    name,
    modelId: undefined,
    methods: new Set(methods),
    adapters: [],
    takesImages: false,
    takesInputTypes: false,
    takesAudio: false,
    maxTokens: undefined,
    state: 'RUNNING',
    ...more,
  };
}

function directory(
  models: readonly ServedModel[],
  aliases: Readonly<Record<string, string | ModelAlias>> = {},
): ModelDirectory {
  const none = (): never => {
    throw new Error('no call is expected');
  };
  return { list: () => models, aliases, call: none, stream: none };
}

const MODELS = directory(
  [
    model('asr', ['transcribe'], { modelId: 'base' }),
    model('embedder', ['embed'], { modelId: 'qwen' }),
    model('llm', TEXT, { modelId: 'qwen', adapters: ['sql', 'a:b'] }),
    model('other', TEXT, { modelId: 'llm' }),
  ],
  { 'gpt-4o': 'qwen', 'gpt-sql': 'llm:sql', constructor: 'llm', gone: 'nothing', asr: 'llm' },
);

const Names = suite('names of models');

Names('are found no longer than names are, at once', () => {
  const deployments = { ...MODELS, onDemand: { names: () => [], find: () => undefined } };
  assert.is(findModel(deployments, ':'.repeat(3_000_000)), undefined);
  assert.throws(() => resolveModel(deployments, 'llm:'.repeat(1_000_000), 'chat'), /does not exist/);
});

Names('do not stand for a deployment of an alias that has no weight', () => {
  const fallbacks = ['asr', 'llm'];
  const drained = {
    deployments: [
      { name: 'other', weight: 0 },
      { name: 'gone', weight: 1 },
    ],
    fallbacks,
  };
  const models = { ...MODELS, aliases: { gpt: { ...drained, fallback_after_s: null } } };
  assert.is(resolveModel(models, 'gpt', 'chat').model.name, 'llm');
});

const CASES: [name: string, deployment: string | undefined, adapter?: string][] = [
  ['llm', 'llm'],
  ['qwen', 'llm'],
  ['gpt-4o', 'llm'],
  ['gpt-sql', 'llm', 'sql'],
  ['llm:sql', 'llm', 'sql'],
  ['qwen:a:b', 'llm', 'a:b'],
  ['llm:a:b', 'llm', 'a:b'],
  ['constructor', 'llm'],
  ['other', 'other'],
  ['gone', undefined],
  ['toString', undefined],
  ['llm:', undefined],
  ['llm:nothing', undefined],
  ['', undefined],
];
for (const [name, deployment, adapter] of CASES)
  Names(`${JSON.stringify(name)} is ${deployment ?? 'nothing'}`, () => {
    const found = findModel(MODELS, name, 'chat');
    assert.equal([found?.model.name, found?.adapter], [deployment, adapter]);
  });

Names('are listed once: deployments, aliases that lead somewhere, adapters', () => {
  assert.equal(
    modelNames(MODELS).map(({ id }) => id),
    ['asr', 'embedder', 'llm', 'other', 'gpt-4o', 'gpt-sql', 'constructor', 'llm:sql', 'llm:a:b'],
  );
});

/** Returns the message with which a name is refused. */
function refusal(models: ModelDirectory, name: string): string {
  try {
    resolveModel(models, name, 'chat');
  } catch (error) {
    assert.instance(error, AanaError);
    assert.equal([(error as AanaError).name, (error as AanaError).kind], ['UnknownModel', 'not-found']);
    return (error as AanaError).message;
  }
  return assert.unreachable('it was not refused') as never;
}

Names('that nothing has are refused with those that can do it', () => {
  assert.match(refusal(MODELS, 'gpt-5'), /^The model "gpt-5" does not exist: the models are llm, other, gpt-sql,/);
  assert.match(refusal(MODELS, 'embedder'), /is the deployment embedder, which cannot do chat: the models are llm,/);
});

Names('are refused with what to deploy if no deployment can do it', () => {
  const message = refusal(directory([model('asr', ['transcribe'])]), 'x'.repeat(1e6));
  assert.match(message, /no deployment of this server can do chat; add a language model \(LlamaTextGeneration/);
  assert.ok(message.length < 500);
});

Names.run();
