import { defineEndpoint, splitTranscript, VideoInput, WhisperParams, withSpeakers, z } from 'aana-host/plugin';
import { Library, Video } from './library.ts';

/** The part of a video's work after which its transcript is there, and that after which its speakers are known. */
const STEPS = { transcribed: 0.7, diarized: 0.9 };
/** Seconds of a passage: short enough to listen to, and long enough to have a meaning. */
const PASSAGE_S = 30;
/** Tokens of a passage. Models for embeddings read 256 and more, and languages other than English need more of them. */
const PASSAGE_TOKENS = 150;

/** Adds videos to the library: transcribes them, and divides the speech into passages that a search finds. */
export const addVideos = defineEndpoint({
  name: 'library_add',
  path: '/library/add',
  summary: 'Add videos to the library',
  description:
    'Transcribes videos, and makes their speech searchable in passages of at most 30 seconds. A video that has the ' +
    '`media_id` of one in the library replaces it. Videos before one that fails stay in the library.',
  input: z.strictObject({
    videos: z.array(VideoInput).check(z.minLength(1), z.maxLength(100)),
    speakers: z._default(
      z.boolean().check(z.describe('Whether passages have the names of their speakers, by `diarization_deployment`.')),
      false,
    ),
    whisper_params: z.optional(z.nullable(WhisperParams)),
  }),
  output: z.strictObject({ videos: z.array(Video) }),
  uses: ['storage', 'vectors'],
  async run({ videos, speakers, whisper_params: params }, ctx) {
    const library = new Library(ctx);
    const added: Video[] = [];
    for (const [n, video] of videos.entries()) {
      const begin = (part: number, text: string, until: number): void =>
        ctx.progress((n + part) / videos.length, `video ${n + 1}: ${text}`, { until: (n + until) / videos.length });
      using opened = await ctx.video.open(video);
      using audio = await opened.extractAudio();
      begin(0, 'transcribing', STEPS.transcribed);
      let transcript = await ctx.asr.transcribe(audio, { ...params, word_timestamps: true });
      if (speakers && transcript.segments.length > 0) {
        begin(STEPS.transcribed, 'finding speakers', STEPS.diarized);
        transcript = withSpeakers(transcript, await ctx.diarization.diarize(audio), { merge: true });
      }
      begin(STEPS.diarized, 'embedding', 1);
      const passages = await splitTranscript(transcript.segments, { maxSeconds: PASSAGE_S, maxTokens: PASSAGE_TOKENS });
      const title = opened.metadata.title ?? (video.content == null ? null : ctx.file(video.content).name);
      const id = video.media_id ?? ctx.random.uuid();
      added.push(await library.put({ id, title: title ?? null, duration: opened.info.duration ?? null }, passages));
    }
    return { videos: added };
  },
});
