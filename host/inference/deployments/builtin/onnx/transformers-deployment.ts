import * as z from 'zod';
import { ImageReference } from '../../../../base/schemas/index.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import {
  embeddingDefaults,
  embeddingMethods,
  embeddingSettingNames,
  embeddingSettings,
  hasDefaultPrompt,
  NO_DEFAULT_PROMPT,
} from '../../class/embedding-methods.ts';
import type { DeploymentDefinition, PrepareContext, ReplicaSpec } from '../../class/deployment-definition.ts';
import { method } from '../../class/method.ts';
import { transcriptionMethods } from '../../class/transcription-methods.ts';
import { modelName } from '../model-name.ts';
import { pullModel } from '../pull-model.ts';
import { VAD_MODEL } from '../speech/vad-deployment.ts';
import { onnxMemory, onnxReplica, onnxReplicaSpec, type OnnxSizes, requireProcessors } from './onnx-replica.ts';
import { pullPipeline } from './pipeline-files.ts';
import { TASK_NAMES, type TaskName } from './pipeline-tasks.ts';
import { SEQ2SEQ_TASKS, seq2seqArguments, seq2seqKeys } from './seq2seq-task.ts';
import {
  CALLS,
  TEXT_GENERATION,
  textGenerationKeys,
  textGenerationSpec,
  textGenerationVariant,
} from './text-generation-task.ts';
import { WEIGHT_NAMES, weightSuffix } from './weight-file.ts';

const EMBEDDINGS = 'feature-extraction';
const SPEECH = 'automatic-speech-recognition';

const settings = z.strictObject(embeddingSettings).partial();
/** Settings of the methods for embeddings. */
const embeddings = {
  pooling: z
    .enum(['mean', 'cls', 'last'])
    .optional()
    .describe(
      `\`${EMBEDDINGS}\`: how the vectors of a text's tokens become one: their mean, or the vector of the first or ` +
        'last token. Default: `mean`.',
    ),
  max_seq_length: z
    .int()
    .min(8)
    .max(1_048_576)
    .optional()
    .describe(
      `\`${EMBEDDINGS}\`: most tokens of a text. The limit of the model applies too. Default: the limit that the ` +
        'tokenizer or the model states.',
    ),
  ...settings.shape,
};

/** Settings of the methods for speech. */
const speech = {
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'must be a code such as "en"')
    .optional()
    .describe(`\`${SPEECH}\`: code of the language that the model hears. Default: \`en\`.`),
};

/** The keys that only some tasks have. */
const OWN_KEYS: Readonly<Record<string, object>> = {
  [EMBEDDINGS]: embeddings,
  [SPEECH]: speech,
  [TEXT_GENERATION]: textGenerationKeys,
  ...Object.fromEntries(SEQ2SEQ_TASKS.map((task) => [task, seq2seqKeys])),
};

type Config = z.infer<typeof fields>;

/** Returns the keys of a configuration that belong to other tasks. */
function foreignKeys({ task, ...config }: Config): string[] {
  const own = Object.keys(OWN_KEYS[task] ?? {});
  const all = new Set(Object.values(OWN_KEYS).flatMap(Object.keys));
  return [...all].filter((key) => config[key as keyof typeof config] !== undefined && !own.includes(key));
}

const fields = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .describe(
      '`owner/repo` of the hub, or the path of a folder like it: `config.json`, `tokenizer.json`, ' +
        '`tokenizer_config.json`, and `onnx/model.onnx` or a file with other weights. `text-generation` also takes a ' +
        'GGUF model of the families Llama and Qwen2, which is converted once: a catalogue id, `owner/repo/file.gguf` ' +
        'of the hub, or a path.',
    ),
  task: z.enum(TASK_NAMES).describe('What the model is for.'),
  dtype: z
    .enum(WEIGHT_NAMES)
    .optional()
    .describe(
      'Type of the weights, which chooses the file: `q8` is `onnx/model_quantized.onnx`. Default: `fp32`. A GGUF ' +
        'model becomes `q8` (the default), or `fp16`, which is exact and takes about three times as long.',
    ),
  ...onnxReplica,
  ...embeddings,
  ...speech,
  ...textGenerationKeys,
  ...seq2seqKeys,
});

const schema = fields.refine(hasDefaultPrompt, NO_DEFAULT_PROMPT).superRefine((config, context) => {
  for (const key of foreignKeys(config))
    context.addIssue({ code: 'custom', path: [key], message: `is not a key of ${config.task}`, input: config });
});

/** Configuration of a deployment that runs a pipeline of Transformers.js. */
export class TransformersConfig extends configClass(schema) {}

/** Calls for embeddings, whose texts are short. */
const EMBEDDING_CALLS = 32;
const MAX_TEXTS = 2048;
const MAX_IMAGES = 64;
const MAX_CHARACTERS = 1_000_000;

const text = z.string().max(MAX_CHARACTERS);
const labels = z.array(z.string().min(1).max(1000)).min(1).max(1000);

const pipelineMethods = {
  call: method({
    description: 'Runs the pipeline. The result of a list has an item for each text or image.',
    input: z.strictObject({
      inputs: z
        .union([
          text,
          z.array(text).min(1).max(MAX_TEXTS),
          ImageReference,
          z.array(ImageReference).min(1).max(MAX_IMAGES),
        ])
        .describe('A text or several; a question; an image or several, decoded.'),
      pooling: z
        .enum(['none', 'mean', 'cls', 'last_token'])
        .nullish()
        .describe("`feature-extraction`: how the vectors of a text's tokens become one. Default: `none`."),
      normalize: z.boolean().nullish().describe('`feature-extraction`: whether vectors get the length 1.'),
      top_k: z
        .int()
        .min(1)
        .max(1000)
        .nullish()
        .describe(
          '`text-classification`, `question-answering`, `image-classification`: most labels or answers. Default: 1; ' +
            'labels of an image: 5.',
        ),
      threshold: z
        .number()
        .min(0)
        .max(1)
        .nullish()
        .describe('`object-detection`: least score of an object. Default: 0.9.'),
      percentage: z
        .boolean()
        .nullish()
        .describe('`object-detection`: whether boxes are parts of the image, from 0 to 1, and not pixels.'),
      ignore_labels: labels.nullish().describe('`token-classification`: labels that are left out. Default: `O`.'),
      aggregation_strategy: z
        .enum(['none', 'simple'])
        .nullish()
        .describe('`token-classification`: `simple` joins neighbours with the same label. Default: `none`.'),
      candidate_labels: labels.nullish().describe('`zero-shot-classification`: the labels to choose from.'),
      hypothesis_template: z
        .string()
        .max(1000)
        .regex(/\{\}/, 'must have {} in the place of the label')
        .nullish()
        .describe('`zero-shot-classification`: the sentence about a label. Default: `This example is {}.`'),
      multi_label: z.boolean().nullish().describe('`zero-shot-classification`: whether several labels may be right.'),
      context: text.nullish().describe('`question-answering`: the text that has the answer.'),
      ...seq2seqArguments,
    }),
    output: z.unknown(),
  }),
};

/** For typed handles: a deployment has the method of its task. */
const countTokens = method({
  description: textGenerationVariant.methods.count_tokens.description,
  input: z.union([embeddingMethods.count_tokens.input, textGenerationVariant.methods.count_tokens.input]),
  output: textGenerationVariant.methods.count_tokens.output,
});

/** Runs a pipeline of Transformers.js. */
export const TransformersDeployment = defineDeployment({
  name: 'TransformersDeployment',
  configSchema: schema,
  maxOngoingRequests: ({ task }) => (task === EMBEDDINGS ? EMBEDDING_CALLS : CALLS),
  methods: {
    ...pipelineMethods,
    ...embeddingMethods,
    ...transcriptionMethods,
    ...textGenerationVariant.methods,
    count_tokens: countTokens,
  },
  variant: ({ task }): DeploymentDefinition => VARIANTS.get(task) ?? ofPipelines,
  threads: ({ threads }) => threads,
  async prepare(config, context) {
    requireProcessors('TransformersDeployment', context);
    const { model_id: id, task } = config;
    const { sizes, spec } = await (task === TEXT_GENERATION
      ? textGenerationSpec(config, context)
      : pipelineSpec(config, task, context));
    return {
      ...spec,
      task,
      model_name: modelName(id),
      ...(await onnxReplicaSpec('TransformersDeployment', config, sizes, context)),
      transformers_path: await pullModel('transformers', context),
      ...(task === EMBEDDINGS && embeddingSpec(config)),
      ...(task === SPEECH && { language: config.language, vad_model_path: await pullModel(VAD_MODEL, context) }),
    };
  },
  memory: onnxMemory,
  reconfigurable: embeddingSettingNames,
  implementation: new URL('../../../engines/transformers/transformers.js', import.meta.url),
});

const ofPipelines: DeploymentDefinition = { ...TransformersDeployment, methods: pipelineMethods };

/** The definitions of tasks that have methods of their own. */
const VARIANTS: ReadonlyMap<string, DeploymentDefinition> = new Map<string, DeploymentDefinition>([
  [EMBEDDINGS, { ...TransformersDeployment, methods: { ...pipelineMethods, ...embeddingMethods } }],
  [SPEECH, { ...TransformersDeployment, methods: transcriptionMethods }],
  [TEXT_GENERATION, { ...TransformersDeployment, ...textGenerationVariant }],
]);

async function pipelineSpec(
  { model_id: id, dtype = 'fp32', generation_kwargs }: Config,
  task: TaskName,
  context: PrepareContext,
): Promise<{ readonly sizes: OnnxSizes; readonly spec: ReplicaSpec }> {
  const { bytes, folder } = await pullPipeline(id, task, weightSuffix(dtype), context);
  return { sizes: { model: bytes }, spec: { folder, dtype, generation_kwargs } };
}

/** Returns the part of a replica's spec for the methods for embeddings. */
function embeddingSpec({ pooling = 'mean', max_seq_length: most, ...config }: Config): ReplicaSpec {
  const given = embeddingSettingNames.map((name) => [name, config[name]] as const);
  return {
    pooling,
    max_seq_length: most,
    settings: { ...embeddingDefaults, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) },
  };
}
