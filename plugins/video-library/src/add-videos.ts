import { defineEndpoint, splitTranscript, VideoInput, WhisperParams, withSpeakers, z } from 'aana-host/plugin';
import { Library, Video } from './library.ts';

/** The part of a video's work after which its speakers are known, and that after which its transcript is there. */
const STEPS = { diarized: 0.2, transcribed: 0.9 };
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
      let voices;
      if (speakers) {
        // First, because there may be no deployment for it, and a transcription takes long.
        begin(0, 'finding speakers', STEPS.diarized);
        voices = await ctx.diarization.diarize(audio);
      }
      begin(speakers ? STEPS.diarized : 0, 'transcribing', STEPS.transcribed);
      let transcript = await ctx.asr.transcribe(audio, { ...params, word_timestamps: true });
      if (voices) transcript = withSpeakers(transcript, voices, { merge: true });
      begin(STEPS.transcribed, 'embedding', 1);
      const passages = await splitTranscript(transcript.segments, { maxSeconds: PASSAGE_S, maxTokens: PASSAGE_TOKENS });
      const title = opened.metadata.title ?? (video.content == null ? null : ctx.file(video.content).name) ?? null;
      const duration = opened.info.duration ?? null;
      const id = video.media_id ?? (await idOf([ctx.requestId, n, video, title, duration]));
      added.push(await library.put({ id, title, duration }, passages));
    }
    return { videos: added };
  },
});

/** Returns an id that the next attempt of a task gives the same video, which it then replaces. */
async function idOf(facts: readonly unknown[]): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(facts)));
  return Array.from(new Uint8Array(digest, 0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
