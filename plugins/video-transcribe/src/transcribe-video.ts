import {
  answerBy,
  defineEndpoint,
  needsWordTimes,
  subtitlesTranscript,
  TRANSCRIPT_ANSWERS,
  transcriptAnswer,
  TranscriptForm,
  transcriptFormProblems,
  VideoInput,
  WhisperParams,
  z,
} from 'aana-host/plugin';

const Input = z
  .strictObject({
    video: VideoInput,
    whisper_params: z.optional(z.nullable(WhisperParams)),
    subtitles: z
      .optional(z.boolean())
      .check(
        z.describe('Whether the first track of embedded subtitles stands for the speech, which nothing hears then.'),
      ),
    ...TranscriptForm.shape,
  })
  .check((ctx) => {
    const { format, whisper_params: params, subtitles } = ctx.value;
    const problems: { path: readonly [keyof typeof ctx.value]; message: string }[] = [
      ...transcriptFormProblems(ctx.value),
    ];
    if (format === 'diarized_json' && params?.channels !== 'separate')
      problems.push({
        path: ['format'],
        message: '"diarized_json" needs speakers: set whisper_params.channels to "separate"',
      });
    if (subtitles && params != null)
      problems.push({ path: ['whisper_params'], message: 'with "subtitles" nothing is transcribed: leave them out' });
    if (subtitles && needsWordTimes(ctx.value))
      problems.push({
        path: ['subtitles'],
        message: 'subtitles have no times of words, which max_line_count and highlight_words need',
      });
    for (const { path, message } of problems)
      ctx.issues.push({ code: 'custom', input: ctx.value[path[0]], path: [...path], message });
  });

/**
 * Transcribes the speech of a video. Without an audio track or without speech, the language is "silence" and there are
 * no segments.
 */
export const transcribeVideo = defineEndpoint({
  name: 'transcribe_video',
  path: '/video/transcribe',
  summary: 'Transcribe a video',
  description:
    'Transcribes the speech of a video: the whole text, and segments with times, confidence and, on request, words. ' +
    'The answer can also be subtitles, a table or plain text.',
  input: Input,
  output: answerBy('format', TRANSCRIPT_ANSWERS),
  async run({ video, whisper_params: params, subtitles, ...form }, ctx) {
    const opened = await ctx.video.open(video);
    if (subtitles) return transcriptAnswer(form, subtitlesTranscript(await opened.subtitles()), await opened.facts());
    const audio = await opened.extractAudio({ channels: params?.channels ?? 'mix' });
    const asked = needsWordTimes(form) ? { ...params, word_timestamps: true } : params;
    const output = await ctx.asr.transcribe(audio, asked);
    return transcriptAnswer(form, output, audio, params?.task);
  },
});
