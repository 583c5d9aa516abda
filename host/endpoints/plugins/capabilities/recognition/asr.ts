import type { AsrOutput } from '../../../../base/schemas/asr.ts';
import type { AsrCalls } from '../../../../../wit/generated/world/asr.ts';
import { allWhisperParams, whisperParams, witDetailedTranscription, witTranscription } from './asr-records.ts';
import { openStream } from '../scope/open-stream.ts';
import type { CallsOf, CapabilityScope } from '../scope/scope.ts';

/** Speech recognition in typed records. */
export const asrCalls: CallsOf<keyof AsrCalls> = {
  'asr.transcribe': async (scope, deployment, audio, params) =>
    witTranscription(await transcribed(scope, deployment, audio, whisperParams(params))),
  'asr.transcribe-stream': async (scope, deployment, audio, params) =>
    openStream(scope, deployment, 'transcribe_stream', transcribeArguments(scope, audio, whisperParams(params))),
  async 'asr.next'(scope, stream) {
    const values = await scope.get(stream, 'stream').stream.nextValues();
    return values.map((value) => witTranscription(value as AsrOutput));
  },
  async 'asr.transcribe-with'(scope, deployment, audio, options) {
    const output = await transcribed(scope, deployment, audio, allWhisperParams(options));
    const startedAt = performance.now();
    const transcription = witDetailedTranscription(output);
    scope.charge(performance.now() - startedAt);
    return transcription;
  },
  'asr.transcribe-stream-with': async (scope, deployment, audio, options) =>
    openStream(scope, deployment, 'transcribe_stream', transcribeArguments(scope, audio, allWhisperParams(options))),
  async 'asr.next-detailed'(scope, stream) {
    const values = await scope.get(stream, 'stream').stream.nextValues();
    return values.map((value) => witDetailedTranscription(value as AsrOutput));
  },
};

async function transcribed(
  scope: CapabilityScope,
  deployment: string,
  audio: number,
  params: Record<string, unknown> | undefined,
): Promise<AsrOutput> {
  const args = transcribeArguments(scope, audio, params);
  return (await scope.deployment(deployment).call('transcribe', args, scope.callOptions())) as AsrOutput;
}

function transcribeArguments(
  scope: CapabilityScope,
  audio: number,
  params: Record<string, unknown> | undefined,
): Record<string, unknown> {
  return { audio: scope.get(audio, 'audio').audio.reference, ...(params && { params }) };
}
