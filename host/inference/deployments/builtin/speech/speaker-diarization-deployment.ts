import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { amount } from '../../../../base/core/fields.ts';
import {
  AudioReference,
  KnownSpeakers,
  SpeakerDiarizationOutput,
  SpeakerDiarizationParams,
} from '../../../../base/schemas/index.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { method, streamingMethod } from '../../class/method.ts';
import { pullOnnxRuntime } from '../onnx/onnx-replica.ts';
import { pullModel } from '../pull-model.ts';

const NAMES = '`owner/repo/file.onnx` of the hub, or the path of an ONNX file';
const seconds = z.number().min(0).max(60);

const schema = z.strictObject({
  segmentation_model_id: z
    .string()
    .min(1)
    .default('pyannote-segmentation-3.0')
    .describe(
      `Model that tells who speaks when in ten seconds: a catalogue id, ${NAMES} with the same input and output.`,
    ),
  embedding_model_id: z
    .string()
    .min(1)
    .default('campplus-zh-en')
    .describe(`Model of a voice's vector: a catalogue id, ${NAMES} that takes 80 bands for each 10 ms.`),
  threshold: amount(
    { min: -1, max: 1, default: 0.4 },
    'Least similarity (cosine) of voices that count as one speaker. Other embedding models need another one.',
  ),
  min_duration_on: seconds.default(0).describe('Segments that are shorter are left out, in seconds.'),
  min_duration_off: seconds
    .default(0.3)
    .describe('Pauses of a speaker up to this length do not end a segment, in seconds.'),
  threads: z.int().min(1).max(256).optional().describe('CPU threads. Default: the processors of a replica, at most 4.'),
});

/** Configuration of a deployment for speaker diarization. */
export class SpeakerDiarizationConfig extends configClass(schema) {}

/** More threads make networks of this size no faster. */
const USEFUL_THREADS = 4;
/** Memory of the runtime and of the largest clustering. */
const WORKING_BYTES = 200_000_000;

const input = z.strictObject({
  audio: AudioReference,
  params: z.optional(z.nullable(SpeakerDiarizationParams)),
  known_speakers: z
    .optional(z.nullable(KnownSpeakers))
    .describe('Speakers whose voices are known. The others are numbered.'),
});

/** Says who speaks when. */
export const SpeakerDiarizationDeployment = defineDeployment({
  name: 'SpeakerDiarizationDeployment',
  configSchema: schema,
  maxOngoingRequests: () => 4,
  methods: {
    diarize: method({ description: 'Finds who speaks when.', input, output: SpeakerDiarizationOutput }),
    diarize_stream: streamingMethod({
      description: 'Finds who speaks when, and yields the progress. The last value has the segments.',
      input,
      output: z.strictObject({
        progress: z.number().min(0).max(1).describe('The part that is done.'),
        segments: z.nullable(SpeakerDiarizationOutput.shape.segments),
      }),
    }),
  },
  threads: ({ threads }) => threads,
  async prepare(config, context) {
    const files = {
      segmentation_path: await pullModel(config.segmentation_model_id, context),
      embedding_path: await pullModel(config.embedding_model_id, context),
      runtime_path: await pullOnnxRuntime('SpeakerDiarizationDeployment', context),
    };
    const cpus = Math.max(1, await context.cpus());
    const { threshold, min_duration_on, min_duration_off } = config;
    return {
      ...files,
      threads: Math.min(config.threads ?? USEFUL_THREADS, cpus),
      settings: { threshold, min_duration_on, min_duration_off },
    };
  },
  async memory(spec) {
    const sizes = [spec['segmentation_path'], spec['embedding_path']].map(
      async (path) => (await stat(String(path))).size,
    );
    const weightsBytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    return { weightsBytes, contextBytes: WORKING_BYTES };
  },
  reconfigurable: ['threshold', 'min_duration_on', 'min_duration_off'],
  implementation: new URL('../../../engines/diarization/diarization.js', import.meta.url),
});
