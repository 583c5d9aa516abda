import {
  answerBy,
  defineEndpoint,
  SpeakerDiarizationParams,
  TRANSCRIPT_ANSWERS,
  transcriptAnswer,
  TranscriptForm,
  transcriptFormProblems,
  VideoInput,
  WhisperParams,
  withSpeakers,
  z,
} from 'aana-host/plugin';

/** The progress of a run whose transcript is there. */
const TRANSCRIBED = 0.75;

const Input = z
  .strictObject({
    video: VideoInput,
    whisper_params: z.optional(z.nullable(WhisperParams)),
    diarization_params: z.optional(z.nullable(SpeakerDiarizationParams)),
    merge: z._default(
      z
        .boolean()
        .check(
          z.describe(
            'Whether neighbouring segments of one speaker become one segment, and speakers are numbered in the ' +
              'order in which they begin.',
          ),
        ),
      false,
    ),
    ...TranscriptForm.shape,
  })
  .check((ctx) => {
    for (const { path, message } of transcriptFormProblems(ctx.value))
      ctx.issues.push({ code: 'custom', input: ctx.value[path[0]], path: [...path], message });
    const { whisper_params: params } = ctx.value;
    if (params?.channels === 'separate')
      ctx.issues.push({
        code: 'custom',
        input: params.channels,
        path: ['whisper_params', 'channels'],
        message: 'speakers are found in the mix of all channels; /video/transcribe separates channels',
      });
  });

/**
 * Transcribes the speech of a video, and says who speaks. Without an audio track or without speech, the language is
 * "silence" and there are no segments.
 */
export const diarizeVideo = defineEndpoint({
  name: 'diarize_video',
  path: '/video/diarize',
  summary: 'Transcribe a video with its speakers',
  description:
    'Transcribes the speech of a video in segments of one speaker each, with the times and speakers of all words. ' +
    'The answer can also be subtitles, a table or plain text.',
  input: Input,
  output: answerBy('format', TRANSCRIPT_ANSWERS),
  async run({ video, whisper_params: params, diarization_params: diarization, merge, ...form }, ctx) {
    const opened = await ctx.video.open(video);
    const audio = await opened.extractAudio();
    ctx.progress(0, 'transcribing', { until: TRANSCRIBED });
    const transcript = await ctx.asr.transcribe(audio, { ...params, word_timestamps: true });
    if (transcript.segments.length === 0) return transcriptAnswer(form, transcript, audio, params?.task);
    ctx.progress(TRANSCRIBED, 'finding speakers', { until: 1 });
    const speech = await ctx.diarization.diarize(audio, diarization);
    return transcriptAnswer(form, withSpeakers(transcript, speech, { merge }), audio, params?.task);
  },
});
