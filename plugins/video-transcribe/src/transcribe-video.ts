import { AsrOutput, defineEndpoint, VideoInput, WhisperParams, z } from 'aana-host/plugin';

/**
 * Transcribes the speech of a video. Without an audio track or without speech, the language is "silence" and there are
 * no segments.
 */
export const transcribeVideo = defineEndpoint({
  name: 'transcribe_video',
  path: '/video/transcribe',
  summary: 'Transcribe a video',
  description:
    'Transcribes the speech of a video: the whole text, and segments with times, confidence and, on request, words.',
  input: z.strictObject({
    video: VideoInput,
    whisper_params: z.optional(z.nullable(WhisperParams)),
  }),
  output: AsrOutput,
  run({ video, whisper_params }, ctx) {
    const audio = ctx.video.open(video).extractAudio({ channels: whisper_params?.channels ?? 'mix' });
    return ctx.asr.transcribe(audio, whisper_params);
  },
});
