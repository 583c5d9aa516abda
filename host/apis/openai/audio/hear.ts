import type { Context } from 'koa';
import { AccessError } from '../../../data/access/index.ts';
import { type AudioFile, audioFiles, openAudioFile } from './audio-files.ts';
import type { AudioPart } from './audio-input.ts';
import { capabilitiesOf } from '../models/capabilities.ts';
import { unsupported } from '../fields.ts';
import type { RunContext } from '../run-context.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { AsrOutput } from '../../../base/schemas/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';

export interface DialogWithAudio {
  readonly audio: readonly AudioPart[];
  /** Checks the request, which has empty texts in the places of its audio. Nothing is transcribed if it throws. */
  readonly check: () => unknown;
}

/**
 * Transcribes the audio of a dialog, and writes the transcripts to its places. Throws errors that name the part if no
 * deployment transcribes it, if the API key does not allow this deployment, or if there is too much audio.
 */
export async function hear(
  ctx: Context,
  { audio, check }: DialogWithAudio,
  options: OpenAiHttpOptions,
  context: RunContext,
): Promise<void> {
  const [first] = audio;
  if (!first) return;
  await check();
  const models = allowedModels(ctx, options.openai.models);
  const deployment = deploymentFor(models, first, options);
  for (const file of audioFiles(audio, options))
    file.part.target.text = await transcribe(file, { models, deployment, context, options });
}

/** Returns the name of the deployment that transcribes audio in dialogs. */
function deploymentFor(models: ModelDirectory, { part }: AudioPart, { openai }: OpenAiHttpOptions): string {
  const { deployment } = openai.audioInput;
  const why = 'audio in dialogs is not transcribed here';
  if (deployment === null)
    throw unsupported(`${part}.type`, `${why}: set openai.audio_input.deployment to a deployment of speech to text`);
  const can = ({ list }: ModelDirectory): boolean =>
    list().some(({ name, methods }) => name === deployment && capabilitiesOf(methods).includes('transcriptions'));
  if (can(models)) return deployment;
  if (can(openai.models))
    throw new AccessError(
      'InsufficientScope',
      `the API key does not allow the deployment ${deployment}, which transcribes audio in dialogs`,
      { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    );
  throw unsupported(`${part}.type`, `${why}: no deployment of speech to text has the name ${deployment}`);
}

interface Transcribing {
  readonly models: ModelDirectory;
  readonly deployment: string;
  readonly context: RunContext;
  readonly options: OpenAiHttpOptions;
}

async function transcribe(file: AudioFile, { models, deployment, context, options }: Transcribing): Promise<string> {
  await using audio = await openAudioFile(file, options, context);
  const output = await models.call(deployment, 'transcribe', { audio, params: {} }, context);
  return (output as AsrOutput).transcription.text.trim();
}
