import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { AudioReference, VadParams, VadSegments } from '../../../../base/schemas/index.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { method } from '../../class/method.ts';
import { pullModel } from '../pull-model.ts';

const threshold = z.number().min(0).max(1);
const seconds = z.number().min(0).max(60);

/** The voice detector of deployments of speech to text. */
export const VAD_MODEL = 'silero-vad-v6.2.0';

const schema = z
  .strictObject({
    model_id: z
      .string()
      .min(1)
      .default('silero-vad')
      .describe('A Silero model: a catalogue id, or the path of a file in ggml form.'),
    onset: threshold.default(0.5).describe('Speech begins when its probability rises above this.'),
    offset: threshold
      .default(0.363)
      .describe('Speech ends when its probability falls below this, which is at most `onset`.'),
    min_duration_on: seconds.default(0.1).describe('Speech that is shorter is left out, in seconds.'),
    min_duration_off: seconds.default(0.1).describe('Pauses that are shorter do not end the speech, in seconds.'),
    sample_rate: z.literal(16_000).default(16_000).describe('Samples per second of the audio. Always 16000.'),
    threads: z
      .int()
      .min(1)
      .max(256)
      .optional()
      .describe(
        'Audio that is computed at the same time, on a thread each. Default: the processors of a replica, at most 4.',
      ),
  })
  .refine(({ onset, offset }) => offset <= onset, { path: ['offset'], message: 'offset must be at most onset' });

/** Configuration of a deployment for voice activity detection. */
export class VadConfig extends configClass(schema) {}

/** One audio is computed on one thread, so more threads are for more calls at the same time. */
const USEFUL_THREADS = 4;
/** Memory of a detector and of the probabilities of an audio of hours. */
const WORKING_BYTES = 20_000_000;

/** Finds the parts of an audio in which somebody speaks. */
export const VadDeployment = defineDeployment({
  name: 'VadDeployment',
  configSchema: schema,
  maxOngoingRequests: () => 8,
  methods: {
    asr_preprocess_vad: method({
      description: 'Finds speech, and groups it to segments that are transcribed in one piece each.',
      input: z.strictObject({ audio: AudioReference, params: z.optional(z.nullable(VadParams)) }),
      output: VadSegments,
    }),
  },
  threads: ({ threads }) => threads,
  async prepare({ model_id: id, threads, onset, offset, min_duration_on, min_duration_off }, context) {
    const cpus = Math.max(1, await context.cpus());
    return {
      model_path: await pullModel(id, context),
      threads: Math.min(threads ?? USEFUL_THREADS, cpus),
      settings: { onset, offset, min_duration_on, min_duration_off },
    };
  },
  async memory(spec) {
    return { weightsBytes: (await stat(String(spec['model_path']))).size, contextBytes: WORKING_BYTES };
  },
  reconfigurable: ['onset', 'offset', 'min_duration_on', 'min_duration_off'],
  implementation: new URL('../../../engines/speech/vad.js', import.meta.url),
});
