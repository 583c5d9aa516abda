import type { StartContext } from '../../replicas/process/implementation.ts';
import type { ImageChatDialog, DialogMessage } from '../../../base/schemas/index.ts';
import type { LlamaAudio, LlamaImage } from '../../../../native/lib/index.ts';
import { textBefore } from '../chat/frames.ts';
import { type Media, readMedia } from '../chat/media.ts';
import { pngOf } from './png.ts';
import { wavOf } from './wav.ts';

/**
 * Returns the messages of a request, with images as data URLs and audio as files. With a prefix the answer goes on with
 * it, which vLLM and llama-server can do.
 */
export async function dialogBody(
  dialog: ImageChatDialog,
  prefix: string | null | undefined,
  artifactPath: StartContext['artifactPath'],
): Promise<Record<string, unknown>> {
  const media = await readMedia(dialog, artifactPath);
  const messages: unknown[] = [];
  for (const message of dialog.messages)
    messages.push({ ...message, content: await contentBody(message.content, media) });
  if (prefix == null || prefix === '') return { messages };
  return {
    messages: [...messages, { role: 'assistant', content: prefix }],
    add_generation_prompt: false,
    continue_final_message: true,
  };
}

/** Returns a content as the API has it. Images are written as PNG, which loses nothing, and audio as WAV. */
async function contentBody(content: DialogMessage['content'], media: Media): Promise<unknown> {
  if (typeof content === 'string') return content;
  const parts: unknown[] = [];
  for (const part of content) {
    const text = textBefore(part);
    if (text !== undefined) parts.push({ type: 'text', text });
    parts.push(part.type === 'text' ? part : await mediaBody(media.get(part)!));
  }
  return parts;
}

async function mediaBody(one: LlamaImage | LlamaAudio): Promise<unknown> {
  if ('samples' in one)
    return { type: 'input_audio', input_audio: { data: wavOf(one.samples).toString('base64'), format: 'wav' } };
  const file = await pngOf(one.pixels, one.width, one.height);
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${file.toString('base64')}` } };
}
