import {
  answerBy,
  AsrOutput,
  asText,
  defineEndpoint,
  DiarizedTranscription,
  SubtitleOptions,
  textAnswer,
  toDiarizedJson,
  toVerboseJson,
  TRANSCRIPT_FORMATS,
  TRANSCRIPT_MEDIA_TYPES,
  transcriptFile,
  VerboseTranscription,
  VideoInput,
  WhisperParams,
  z,
} from 'aana-host/plugin';

const Input = z
  .strictObject({
    video: VideoInput,
    whisper_params: z.optional(z.nullable(WhisperParams)),
    format: z._default(
      z.nullable(
        z
          .enum(TRANSCRIPT_FORMATS)
          .check(
            z.describe(
              'The form of the answer. "json" has all facts, "text", "srt", "vtt" and "tsv" are text of their media types, "verbose_json" and "diarized_json" have the shapes of OpenAI\'s API. "diarized_json" needs separate channels.',
            ),
          ),
      ),
      'json',
    ),
    ...SubtitleOptions.shape,
  })
  .check((ctx) => {
    const { format, whisper_params: params, max_line_width: width, max_line_count: count } = ctx.value;
    const refuse = (key: string, message: string): void =>
      void ctx.issues.push({ code: 'custom', input: ctx.value[key as keyof typeof ctx.value], path: [key], message });
    const isSubtitles = format === 'srt' || format === 'vtt';
    if (!isSubtitles)
      for (const key of ['max_line_width', 'max_line_count', 'highlight_words'] as const)
        if (ctx.value[key] != null && ctx.value[key] !== false)
          refuse(key, `${key} is an option of the formats "srt" and "vtt"`);
    if (isSubtitles && count != null && width == null)
      refuse('max_line_count', 'max_line_count needs max_line_width, because a segment is one line without it');
    if (format === 'diarized_json' && params?.channels !== 'separate')
      refuse('format', '"diarized_json" needs speakers: set whisper_params.channels to "separate"');
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
    'Transcribes the speech of a video: the whole text, and segments with times, confidence and, on request, words. The answer can also be subtitles, a table or plain text.',
  input: Input,
  output: answerBy('format', {
    json: AsrOutput,
    text: textAnswer(TRANSCRIPT_MEDIA_TYPES.text),
    srt: textAnswer(TRANSCRIPT_MEDIA_TYPES.srt),
    vtt: textAnswer(TRANSCRIPT_MEDIA_TYPES.vtt),
    tsv: textAnswer(TRANSCRIPT_MEDIA_TYPES.tsv),
    verbose_json: VerboseTranscription,
    diarized_json: DiarizedTranscription,
  }),
  run({ video, whisper_params: params, format, max_line_width, max_line_count, highlight_words }, ctx) {
    const audio = ctx.video.open(video).extractAudio({ channels: params?.channels ?? 'mix' });
    // A segment is divided at its words, and a word is underlined at its times.
    const needsWords = max_line_count != null || highlight_words === true;
    const output = ctx.asr.transcribe(audio, needsWords ? { ...params, word_timestamps: true } : params);
    switch (format) {
      case null:
      case 'json':
        return output;
      case 'verbose_json':
        return toVerboseJson(output, audio, params?.task);
      case 'diarized_json':
        return toDiarizedJson(output, audio);
      default:
        return asText(
          TRANSCRIPT_MEDIA_TYPES[format],
          transcriptFile(format, output, { max_line_width, max_line_count, highlight_words }),
        );
    }
  },
});
