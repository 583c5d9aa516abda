import type { AsrOutput } from '../../schemas/asr.ts';
import type { AsrCalls, Params } from '../../../wit/generated/world/asr.ts';
import { whisperParams, witTranscription } from './asr-records.ts';
import { openStream } from './scope/open-stream.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

/** Speech recognition in typed records. */
export const asrCalls: CallsOf<keyof AsrCalls> = {
  async 'asr.transcribe'(scope, deployment, audio, params) {
    const output = await scope
      .deployment(deployment)
      .call('transcribe', transcribeArguments(scope, audio, params), scope.callOptions());
    return witTranscription(output as AsrOutput);
  },
  async 'asr.transcribe-stream'(scope, deployment, audio, params) {
    return openStream(scope, deployment, 'transcribe_stream', transcribeArguments(scope, audio, params));
  },
  async 'asr.next'(scope, stream) {
    const values = await scope.get(stream, 'stream').stream.nextValues();
    return values.map((value) => witTranscription(value as AsrOutput));
  },
};

function transcribeArguments(scope: CapabilityScope, audio: number, params: Params): Record<string, unknown> {
  const given = whisperParams(params);
  return { audio: scope.get(audio, 'audio').audio.reference, ...(given && { params: given }) };
}
