import {
  type AsrOutput,
  AsrSegment,
  AsrTranscription,
  AsrTranscriptionInfo,
  type Audio,
  BatchedWhisperParams,
  type Context,
  defineEndpoint,
  HostError,
  type NewCaption,
  type NewTranscript,
  subtitlesTranscript,
  VadParams,
  VideoInput,
  z,
} from 'aana-host/plugin';
import { IndexedVideos, MediaId, Metadata } from './indexed-videos.ts';
import { shownIn, VideoParams } from './pictures.ts';

/** The progress of a run whose speech is there, if the video has pictures. */
const TRANSCRIBED = 0.5;
/** Characters of a title or an address, and of a description, that the application's tables take. */
const MAX_TEXT = { title: 4096, description: 16_384 } as const;

const Fields = z.strictObject({
  video: VideoInput,
  subtitles: z
    .optional(z.boolean())
    .check(
      z.describe('Whether the first track of embedded subtitles stands for the speech, which nothing hears then.'),
    ),
  video_params: z.optional(z.nullable(VideoParams)),
  whisper_params: z.optional(
    z.nullable(
      z.extend(BatchedWhisperParams, {
        // Other than where speech is only transcribed: a timeline needs the times of what is said.
        without_timestamps: z._default(
          z.boolean().check(z.describe('Take the times of segments from the windows of speech.')),
          false,
        ),
      }),
    ),
  ),
  vad_params: z.optional(
    z.nullable(
      VadParams.check(z.describe('If they are given, `vad_deployment` finds the speech. Default: `asr_deployment`.')),
    ),
  ),
});
type Input = z.infer<typeof Fields>;
const Input = Fields.check((ctx) => {
  if (ctx.value.subtitles)
    for (const name of ['whisper_params', 'vad_params'] as const)
      if (ctx.value[name] != null)
        ctx.issues.push({
          ...{ code: 'custom', input: ctx.value[name], path: [name] },
          message: 'with "subtitles" nothing is transcribed: leave them out',
        });
});

/** Indexes a video, so that questions about it can be answered. */
export const indexVideo = defineEndpoint({
  name: 'index_video_stream',
  path: '/video/index_stream',
  summary: 'Index a video and return its transcription and captions as a stream',
  description:
    'The first value has `media_id` and `metadata`. Each segment of speech is a value with `transcription`, ' +
    '`segments` and `transcription_info`. If deployments for captions or for texts in images are there, each further ' +
    'value has the `captions` of some frames with their `timestamps`. The last value has `transcription_id` and ' +
    '`caption_ids`.',
  input: Input,
  output: z.strictObject({
    media_id: z.optional(MediaId),
    metadata: z.optional(Metadata),
    transcription: z.optional(AsrTranscription),
    segments: z.optional(z.array(AsrSegment)),
    transcription_info: z.optional(AsrTranscriptionInfo),
    captions: z.optional(z.array(z.string())),
    timestamps: z.optional(z.array(z.number().check(z.describe('Seconds from the start of the video.')))),
    transcription_id: z.optional(z.int()),
    caption_ids: z.optional(z.array(z.int())),
  }),
  stream: true,
  uses: ['storage', 'repositories', 'repositories-write'],
  async *run(input, ctx) {
    const { video } = input;
    const { name, size } = video.content == null ? {} : ctx.file(video.content);
    // Also the default id, so that each attempt of a task has the same.
    const request = await digestOf([ctx.requestId, input, name, size]);
    const id = video.media_id ?? request;
    const videos = new IndexedVideos(ctx);
    await videos.requireFree(id, request);

    const limit = ctx.settings.number('max_video_len');
    using opened = await ctx.video.open(video);
    requireShort(opened.info.duration, limit, input);
    const subtitles = input.subtitles ? await opened.subtitles() : undefined;
    using audio = subtitles ? undefined : await opened.extractAudio();
    const duration = opened.info.duration ?? (audio?.duration || null);
    requireShort(duration, limit, input);
    const title = cut(opened.metadata.title ?? name, MAX_TEXT.title);
    const description = cut(opened.metadata.description, MAX_TEXT.description);
    const { path, url } = video;
    const row = { media_id: id, path: stored(path), url: stored(url), title, description };
    await using indexing = await videos.begin(row, { request, duration });
    yield { media_id: id, metadata: { title, description: description ?? '', duration } };

    await indexing.start();
    const { hasVideo } = opened.info;
    ctx.progress(0, 'transcribing', { until: hasVideo ? TRANSCRIBED : 1 });
    const transcript = new Transcript();
    for await (const part of audio
      ? transcribed(audio, input, ctx)
      : subtitles!.map((one) => subtitlesTranscript([one]))) {
      requireShort(audio?.duration, limit, input); // known only when all of it is decoded, whatever its file says
      transcript.add(part);
      yield part;
    }
    const captions: NewCaption[] = [];
    for await (const batch of hasVideo ? shownIn(opened, input.video_params, ctx) : []) {
      captions.push(...batch);
      const timestamps = batch.map(({ timestamp }) => timestamp);
      yield { captions: batch.map(({ caption }) => caption), timestamps };
      const part = duration === null ? 0 : Math.min(1, timestamps.at(-1)! / duration);
      ctx.progress(TRANSCRIBED + (1 - TRANSCRIBED) * part, 'looking at pictures');
    }
    // A plugin sees the name of a deployment, and not its model.
    yield await indexing.complete(transcript.row(audio ? 'asr_deployment' : 'subtitles'), captions);
  },
});

/** What is said in an audio, segment by segment. */
async function* transcribed(
  audio: Audio,
  { whisper_params: params, vad_params: vad }: Input,
  { asr, vad: detector }: Context,
): AsyncGenerator<AsrOutput> {
  if (vad == null) return yield* asr.transcribeStream(audio, params);
  const { segments } = await detector.asrPreprocessVad(audio, vad);
  yield* asr.transcribeInChunks(audio, { vad_segments: segments, params });
}

/** Adds up the parts of a transcription. */
class Transcript {
  readonly #segments: AsrSegment[] = [];
  #text = '';
  #info: AsrTranscriptionInfo = { language: '', language_confidence: 0 };

  add({ segments, transcription: { text }, transcription_info: info }: AsrOutput): void {
    this.#segments.push(...segments);
    this.#text += text;
    this.#info = info; // the last part knows the language
  }

  /** @param model what wrote it */
  row(model: string): NewTranscript {
    const { language, language_confidence } = this.#info;
    return { model, transcript: this.#text, segments: this.#segments, language, language_confidence };
  }
}

function requireShort(seconds: number | null | undefined, limit: number, { video }: Input): void {
  if (seconds == null || seconds <= limit) return;
  throw new HostError(
    'VideoTooLongException',
    'too-large',
    `the video has ${Math.round(seconds)} seconds, and at most ${limit} are indexed (max_video_len)`,
    { data: { video, video_len: seconds, max_len: limit } },
  );
}

async function digestOf(facts: readonly unknown[]): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(facts)));
  return Array.from(new Uint8Array(digest, 0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Cuts a text between characters. */
function cut(text: string | undefined, length: number): string | null {
  if (text === undefined) return null;
  const kept = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
}

/** Leaves out an address that is too long to be stored. A part of it would be another address. */
const stored = (address: string | null | undefined): string | null =>
  address != null && address.length <= MAX_TEXT.title ? address : null;
