import { defineEndpoint, definePlugin, VideoInput, z } from 'aana-host/plugin';
import { countWords, WordCount } from './count-words.ts';

const top = z._default(
  z.int().check(z.minimum(0), z.maximum(100), z.describe('The number of the most frequent words to return.')),
  5,
);

const text = defineEndpoint({
  name: 'text_word_count',
  path: '/text/word_count',
  summary: 'Count the words of a text',
  input: z.strictObject({ text: z.string().check(z.describe('The text.')), top }),
  output: WordCount,
  run: (input) => countWords(input.text, input.top),
});

const video = defineEndpoint({
  name: 'video_word_count',
  path: '/video/word_count',
  summary: 'Count the spoken words of a video',
  description: 'Transcribes the audio with `asr_deployment`. A video without speech has 0 words.',
  input: z.strictObject({ video: VideoInput, top }),
  output: WordCount,
  async run(input, ctx) {
    const opened = await ctx.video.open(input.video);
    const audio = await opened.extractAudio();
    const { transcription } = await ctx.asr.transcribe(audio);
    ctx.log.info('transcribed', { seconds: audio.duration, characters: transcription.text.length });
    return countWords(transcription.text, input.top);
  },
});

export const endpoint = definePlugin([text, video]);
