import type { StartContext } from '../../replicas/process/implementation.ts';
import type { ImageChatDialog, DialogMessage } from '../../../base/schemas/index.ts';
import { type Images, readImages } from '../chat/images.ts';
import { pngOf } from './png.ts';

/**
 * Returns the messages of a request, with images as data URLs. With a prefix the answer goes on with it, which vLLM and
 * llama-server can do.
 */
export async function dialogBody(
  dialog: ImageChatDialog,
  prefix: string | null | undefined,
  artifactPath: StartContext['artifactPath'],
): Promise<Record<string, unknown>> {
  const images = await readImages(dialog, artifactPath);
  const messages: unknown[] = [];
  for (const message of dialog.messages)
    messages.push({ ...message, content: await contentBody(message.content, images) });
  if (prefix == null || prefix === '') return { messages };
  return {
    messages: [...messages, { role: 'assistant', content: prefix }],
    add_generation_prompt: false,
    continue_final_message: true,
  };
}

/** Returns a content as the API has it. Images are written as PNG, which loses nothing. */
async function contentBody(content: DialogMessage['content'], images: Images): Promise<unknown> {
  if (typeof content === 'string') return content;
  const parts: unknown[] = [];
  for (const part of content) {
    if (part.type === 'text') parts.push(part);
    else {
      const { pixels, width, height } = images.get(part.image)!;
      const file = await pngOf(pixels, width, height);
      parts.push({ type: 'image_url', image_url: { url: `data:image/png;base64,${file.toString('base64')}` } });
    }
  }
  return parts;
}
