import * as z from 'zod';
import { whole } from '../../../../base/core/fields.ts';
import {
  AsrOutput,
  AudioReference,
  BatchedWhisperParams,
  LiveParams,
  LiveResult,
  LiveTurnParams,
  LiveTurnResult,
  VadSegment,
} from '../../../../base/schemas/index.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { whisperMemory } from '../memory-need.ts';
import { streamingMethod } from '../../class/method.ts';
import { transcriptionMethods } from '../../class/transcription-methods.ts';
import { VAD_MODEL } from './vad-deployment.ts';
import { LiveAudio } from './live-audio.ts';
import { modelName } from '../model-name.ts';
import { pullModel } from '../pull-model.ts';

/** Sizes of Whisper. A configuration also takes other strings: a catalogue id, or a file. */
export const WhisperModelSize = {
  TINY: 'tiny',
  TINY_EN: 'tiny.en',
  BASE: 'base',
  BASE_EN: 'base.en',
  SMALL: 'small',
  SMALL_EN: 'small.en',
  MEDIUM: 'medium',
  MEDIUM_EN: 'medium.en',
  LARGE_V1: 'large-v1',
  LARGE_V2: 'large-v2',
  LARGE_V3: 'large-v3',
  LARGE: 'large',
  TURBO: 'mobiuslabsgmbh/faster-whisper-large-v3-turbo',
} as const;
export type WhisperModelSize = (typeof WhisperModelSize)[keyof typeof WhisperModelSize];

/** Types of weights, with the names of faster-whisper. */
export const WhisperComputeType = {
  INT8: 'int8',
  INT8_FLOAT32: 'int8_float32',
  INT8_FLOAT16: 'int8_float16',
  INT8_BFLOAT16: 'int8_bfloat16',
  INT16: 'int16',
  FLOAT16: 'float16',
  BFLOAT16: 'bfloat16',
  FLOAT32: 'float32',
} as const;
export type WhisperComputeType = (typeof WhisperComputeType)[keyof typeof WhisperComputeType];

/** Names of faster-whisper's compute types, with the ggml weights that stand for them. */
const COMPUTE_TYPES: Readonly<Record<WhisperComputeType, string>> = {
  int8: 'q8_0',
  int8_float32: 'q8_0',
  int8_float16: 'q8_0',
  int8_bfloat16: 'q8_0',
  int16: 'q8_0',
  float16: 'f16',
  bfloat16: 'f16',
  float32: 'f16',
};
const GGML_TYPE = /^(f16|f32|q\d_\d)$/;

const SIZE_ALIASES: Readonly<Record<string, string>> = {
  large: 'large-v3',
  turbo: 'large-v3-turbo',
  [WhisperModelSize.TURBO]: 'large-v3-turbo',
};

const DEFAULT_STATES = 2;

const ggmlTypes: ReadonlyMap<string, string> = new Map(Object.entries(COMPUTE_TYPES));
const isComputeType = (type: string): boolean => ggmlTypes.has(type) || GGML_TYPE.test(type);

const schema = z.strictObject({
  model_size: z
    .string()
    .min(1)
    .default('base')
    .describe(
      'A Whisper size (`tiny` … `large-v3`, `turbo`), a catalogue id, or the path of a model: a file in ggml form, ' +
        'or a folder in the form of CTranslate2 or of Hugging Face Transformers, which is converted once.',
    ),
  compute_type: z
    .string()
    .refine(isComputeType, `must be one of ${Object.keys(COMPUTE_TYPES).join(', ')}, or a ggml type such as q5_1`)
    .default('int8')
    .describe(
      'Type of the weights. The `int8` types and `int16` load q8_0; types of 16- and 32-bit floats load f16. Names ' +
        'of ggml types are valid, too. A file in ggml form keeps its type.',
    ),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'CPU threads of one computation; a replica has this number for each of its `max_states` computations. It is ' +
        'reduced when all deployments together ask for more threads than there are processors. Default: the ' +
        'processors of a replica, divided by `max_states`.',
    ),
  max_states: z
    .int()
    .min(1)
    .max(16)
    .optional()
    .describe(
      'Computations at the same time, each with memory and threads of its own. Default: 2; without a GPU, 1 if ' +
        'there are too few processors for the threads of two.',
    ),
  batch_size: whole(
    { min: 1, max: 64, default: 8 },
    'Most windows of speech that one computation decodes together. On a processor, their `beam_size` hypotheses ' +
      'are at most 20 together. More windows take less time for each, and more memory: 19 MB for each with ' +
      '`base`, 250 MB with `large-v3`.',
  ),
});
/** Configuration of a Whisper deployment. */
export class WhisperConfig extends configClass(schema) {}

/**
 * Returns the full name of a size, without a type: `whisper-turbo:q5_1` is `large-v3-turbo`. Undefined for a path or an
 * address.
 */
export function whisperSize(modelSize: string): string | undefined {
  const alias = SIZE_ALIASES[modelSize];
  if (alias !== undefined) return alias;
  if (isFile(modelSize)) return undefined;
  const [name = ''] = modelSize
    .toLowerCase()
    .replace(/^whisper-/, '')
    .split(':');
  return SIZE_ALIASES[name] ?? name;
}

/** Returns the type of ggml's weights that a type of the configuration stands for. */
const ggmlType = (computeType: string): string => ggmlTypes.get(computeType) ?? computeType;

/** Returns the model store's id of the weights that a configuration names. */
export function whisperModelId({
  model_size,
  compute_type,
}: Pick<WhisperConfig, 'model_size' | 'compute_type'>): string {
  const size = whisperSize(model_size);
  if (size === undefined) return model_size;
  const type = model_size.split(':')[1] ?? ggmlType(compute_type);
  return `whisper-${size}:${type}`;
}

const isFile = (modelSize: string): boolean => /[/\\]|\.(bin|ggml|gguf)$/.test(modelSize);

/**
 * Returns the number of computations of a replica at the same time. Without a GPU the default is reduced to those that
 * have processors for their threads.
 */
function statesOf(
  { max_states: states, threads = 1 }: Pick<WhisperConfig, 'max_states' | 'threads'>,
  cpus: number,
  numGpus: number,
): number {
  if (states !== undefined) return states;
  return numGpus > 0 ? DEFAULT_STATES : Math.max(1, Math.min(DEFAULT_STATES, Math.floor(cpus / threads)));
}

/** Speech to text with Whisper. */
export const WhisperDeployment = defineDeployment({
  name: 'WhisperDeployment',
  configSchema: schema,
  maxOngoingRequests: () => 8,
  methods: {
    ...transcriptionMethods,
    transcribe_in_chunks: streamingMethod({
      description: 'Transcribes segments of an audio, and yields each segment of text when it is final.',
      input: z.strictObject({
        audio: AudioReference,
        vad_segments: z
          .array(VadSegment)
          .nullish()
          .describe('The parts to transcribe, as `asr_preprocess_vad` returns them. Default: the parts with speech.'),
        batch_size: whole({ min: 1, max: 64, default: 4 }, 'Most windows that are transcribed at the same time.'),
        params: z.optional(z.nullable(BatchedWhisperParams)),
      }),
      output: AsrOutput,
      transcribes: true,
    }),
    transcribe_live: streamingMethod({
      description: 'Transcribes speech while it comes, with partial and final results.',
      input: z.strictObject({ params: z.optional(z.nullable(LiveParams)) }),
      output: LiveResult,
      transcribes: true,
      feed: { name: 'audio', value: LiveAudio },
    }),
    transcribe_turns: streamingMethod({
      description: 'Like `transcribe_live`, and tells where turns of the speaker begin and end.',
      input: z.strictObject({ params: z.optional(z.nullable(LiveTurnParams)) }),
      output: LiveTurnResult,
      transcribes: true,
      feed: { name: 'audio', value: LiveAudio },
    }),
  },
  growingAudio: { transcribe: 'audio', transcribe_stream: 'audio', transcribe_in_chunks: 'audio' },
  threads: (config, { cpus, numGpus }) => config.threads && config.threads * statesOf(config, cpus, numGpus),
  async prepare(config, context) {
    const size = whisperSize(config.model_size);
    const [modelPath, vadModelPath] = [
      await pullModel(whisperModelId(config), context, { whisperType: ggmlType(config.compute_type) }),
      await pullModel(VAD_MODEL, context),
    ];
    const cpus = await context.cpus();
    const states = statesOf(config, cpus, context.numGpus);
    return {
      model_path: modelPath,
      vad_model_path: vadModelPath,
      model_name: `whisper_${size ?? modelName(config.model_size)}`,
      model_size: size,
      threads: Math.min(config.threads ?? Infinity, Math.max(1, Math.floor(cpus / states))),
      max_states: states,
      batch_size: config.batch_size,
      use_gpu: context.numGpus > 0,
    };
  },
  memory: (spec) => whisperMemory(String(spec['model_path']), Number(spec['max_states']), Number(spec['batch_size'])),
  implementation: new URL('../../../engines/whisper.js', import.meta.url),
});
