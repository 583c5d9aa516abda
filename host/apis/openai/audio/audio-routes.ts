import type { Context } from 'koa';
import { RUN_FAILURES } from '../../openapi/index.ts';
import { drained } from '../../../base/core/async/async-values.ts';
import { audioBlame, transcriptionParams, translationParams } from './audio-call.ts';
import { blaming } from '../blame.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { deploymentFor, resolveModel } from '../models/model-names.ts';
import { type ModelWish, withModel } from '../models/model-route.ts';
import { diarized } from './speakers.ts';
import { diarizedEvents, TranscriptionEvent, TranscriptionEvents } from './audio-events.ts';
import { referencesBlame, speakerReferences } from './known-speakers.ts';
import type { RunContext } from '../run-context.ts';
import { TRANSCRIPTION_FIELDS, TranscriptionRequest, TRANSLATION_FIELDS, TranslationRequest } from './audio-fields.ts';
import { TranscriptionAnswer, transcriptionAnswer, TranslationAnswer, translationAnswer } from './audio-answer.ts';
import type { AsrOutput, SpeakerDiarizationOutput } from '../../../base/schemas/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { sendEvents } from '../http/event-stream.ts';
import { type FormRequest, formRequests } from '../http/form-request.ts';
import { type OpenedReferences, openReferences } from './open-references.ts';
import { openSound } from './open-sound.ts';
import type { OpenedSound } from '../http/openai-options.ts';
import { type OpenAiHttpOptions, withinTime } from '../http/openai-request.ts';

/** Adds `POST /v1/audio/transcriptions` and `POST /v1/audio/translations`. */
export function audioRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  transcriptionsRoute(router, options);
  translationsRoute(router, options);
}

function transcriptionsRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  const read = formRequests(TRANSCRIPTION_FIELDS, options);
  serveRoute(
    router,
    {
      id: 'create_transcription',
      at: 'post /v1/audio/transcriptions',
      summary: 'Writes down the speech of a file, as in OpenAI’s API',
      form: TranscriptionRequest,
      idle: TRANSCRIPTION_FIELDS.idle,
      answers: {
        200: {
          description: 'The transcript, in the form that the request asks for.',
          schema: TranscriptionAnswer,
          text: 'text/plain',
          events: TranscriptionEvent,
        },
      },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      await using form = await read(ctx);
      const { request } = form;
      const wish = transcriptionWish(request);
      resolveModel(models, request.model, 'transcriptions'); // an unknown model is refused before its audio is opened
      const params = transcriptionParams(request);
      const isDiarized = request.response_format === 'diarized_json';
      const diarizer = isDiarized ? deploymentFor(models, 'diarization', 'response_format').name : undefined;

      const references = speakerReferences(request);
      const names = references.map((speaker) => speaker.name);

      const transcribe = async (
        sound: OpenedSound,
        { speakers }: OpenedReferences,
        context: RunContext,
      ): Promise<AsrOutput> => {
        const transcript = await transcribed(models, wish, { audio: sound.reference, params }, context);
        if (diarizer === undefined || transcript.segments.length === 0) return transcript;
        const args = { audio: sound.reference, ...(speakers.length > 0 && { known_speakers: speakers }) };
        const speech = await blaming(referencesBlame(references), () =>
          models.call(diarizer, 'diarize', args, context),
        );
        return diarized(transcript, speech as SpeakerDiarizationOutput, names);
      };

      return await withAudio(ctx, form, options, async (sound, context) => {
        await using known = await openReferences(references, options, context);
        if (request.stream !== true)
          return bodyOf(ctx, transcriptionAnswer(request, await transcribe(sound, known, context), sound));
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, async (send) => {
          if (isDiarized) return await send(diarizedEvents(await transcribe(sound, known, context)));
          await withModel(models, wish, context, async ({ model: { name } }, tried) => {
            const events = new TranscriptionEvents(request);
            const values = models.stream(name, 'transcribe_stream', { audio: sound.reference, params }, tried);
            await drained(values, (batch) => {
              tried.begin?.();
              return send((batch as AsrOutput[]).flatMap((output) => events.of(output)));
            });
            await send([events.end()]);
          });
        });
        return undefined;
      });
    },
  );
}

function translationsRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const read = formRequests(TRANSLATION_FIELDS, options);
  serveRoute(
    router,
    {
      id: 'create_translation',
      at: 'post /v1/audio/translations',
      summary: 'Writes down the speech of a file in English, as in OpenAI’s API',
      form: TranslationRequest,
      idle: TRANSLATION_FIELDS.idle,
      answers: {
        200: {
          description: 'The transcript, in the form that the request asks for.',
          schema: TranslationAnswer,
          text: 'text/plain',
        },
      },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      await using form = await read(ctx);
      const { request } = form;
      resolveModel(models, request.model, 'transcriptions');
      const params = translationParams(request);
      return await withAudio(ctx, form, options, async (sound, context) => {
        const args = { audio: sound.reference, params };
        const output = await transcribed(models, transcriptionWish(request), args, context);
        return bodyOf(ctx, translationAnswer(request, output, sound));
      });
    },
  );
}

const transcriptionWish = ({ model }: { readonly model: string }): ModelWish => ({
  name: model,
  capability: 'transcriptions',
});

function transcribed(
  models: ModelDirectory,
  wish: ModelWish,
  args: Readonly<Record<string, unknown>>,
  context: RunContext,
): Promise<AsrOutput> {
  return withModel(
    models,
    wish,
    context,
    async ({ model: { name } }, tried) => (await models.call(name, 'transcribe', args, tried)) as AsrOutput,
  );
}

/** Runs the work for a request with its audio, whose files are removed at the end. */
function withAudio<T>(
  ctx: Context,
  { file, request }: FormRequest<TranscriptionRequest | TranslationRequest>,
  options: OpenAiHttpOptions,
  work: (sound: OpenedSound, context: RunContext) => Promise<T>,
): Promise<T> {
  return withinTime(ctx, options, (context) =>
    blaming(audioBlame(request), async () => {
      await using sound = await openSound(file, options.openai, context, request);
      return await work(sound, context);
    }),
  );
}

/** Returns an answer that is an object, and sends one that is a text. */
function bodyOf<Answer>(ctx: Context, answer: Answer | string): Answer | undefined {
  if (typeof answer !== 'string') return answer;
  ctx.type = 'text/plain; charset=utf-8';
  ctx.body = answer;
  return undefined;
}
