import * as z from 'zod';
import { AsrBatchOutput, AsrOutput, AudioReference, WhisperParams } from '../../../base/schemas/index.ts';
import { method, streamingMethod } from './method.ts';

const MOST_OF_BATCH = 1000;

const params = z.optional(z.nullable(WhisperParams));
const input = z.strictObject({ audio: AudioReference, params });

/** Methods of every deployment of a model of speech to text. */
export const transcriptionMethods = {
  transcribe: method({ description: 'Transcribes speech.', input, output: AsrOutput, transcribes: true }),
  transcribe_stream: streamingMethod({
    description: 'Transcribes speech and yields each segment when it is final.',
    input,
    output: AsrOutput,
    transcribes: true,
  }),
  transcribe_batch: method({
    description: 'Transcribes several audios at the same time. The result has a list for each member of an output.',
    input: z.strictObject({ audio_batch: z.array(AudioReference).max(MOST_OF_BATCH), params }),
    output: AsrBatchOutput,
    transcribes: true,
  }),
};
