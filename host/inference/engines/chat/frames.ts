import type { ContentPart, GenerationDetails, ImageChatDialog } from '../../../base/schemas/index.ts';

type Frame = Extract<ContentPart, { readonly type: 'image' }> & { readonly time: number };

/** A dialog with as many frames as fit, and what was left out. */
export interface FittedDialog {
  readonly dialog: ImageChatDialog;
  readonly dropped?: { readonly tokens: number; readonly frames: number };
}

/** Returns the text before an image, which tells the time of a frame as Qwen3-VL reads it; undefined for an image. */
export const textBefore = (part: ContentPart): string | undefined =>
  isFrame(part) ? `<${part.time.toFixed(1)} seconds>` : undefined;

/**
 * Leaves out frames of videos until the dialog has at most `room` tokens, evenly, so that the first and the last one
 * stay. One frame stays in any case. `count` returns the tokens of a dialog, and is called once for each size of
 * frames.
 */
export async function fitFrames(
  dialog: ImageChatDialog,
  room: number,
  count: (dialog: ImageChatDialog) => Promise<number>,
): Promise<FittedDialog> {
  const frames = dialog.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content.filter(isFrame)));
  if (frames.length === 0) return { dialog };
  const base = await count(withOnly(dialog, new Set()));
  const costs = new Map<string, number>();
  // Late times have the most digits.
  for (const frame of frames.toSorted((a, b) => b.time - a.time))
    if (!costs.has(sizeOf(frame))) costs.set(sizeOf(frame), (await count(withOnly(dialog, new Set([frame])))) - base);
  const tokensOf = (some: readonly Frame[]): number => some.reduce((sum, frame) => sum + costs.get(sizeOf(frame))!, 0);
  let most = frames.length;
  while (most > 1 && base + tokensOf(evenly(frames, most)) > room) most -= 1;
  if (most === frames.length) return { dialog };
  const kept = evenly(frames, most);
  return {
    dialog: withOnly(dialog, new Set(kept)),
    dropped: { tokens: tokensOf(frames) - tokensOf(kept), frames: frames.length - most },
  };
}

/** Returns the details of an answer to a dialog that frames were left out of. */
export function withDroppedFrames(details: GenerationDetails, dropped: FittedDialog['dropped']): GenerationDetails {
  if (!dropped) return details;
  const tokens = dropped.tokens + (details.dropped?.tokens ?? 0);
  return { ...details, dropped: { ...details.dropped, ...dropped, tokens } };
}

const isFrame = (part: ContentPart): part is Frame => part.type === 'image' && part.time !== undefined;

const sizeOf = ({ image: { width, height } }: Frame): string => `${width}×${height}`;

/** Returns `most` frames at even distances. */
function evenly(frames: readonly Frame[], most: number): Frame[] {
  const last = frames.length - 1;
  return Array.from({ length: most }, (_, n) => frames[most === 1 ? last >> 1 : Math.round((n * last) / (most - 1))]!);
}

/** Returns the dialog without the other frames. */
function withOnly({ messages }: ImageChatDialog, kept: ReadonlySet<Frame>): ImageChatDialog {
  return {
    messages: messages.map((message) => {
      if (typeof message.content === 'string') return message;
      const content = message.content.filter((part) => !isFrame(part) || kept.has(part));
      return { ...message, content: content.length === 0 ? '' : content };
    }),
  };
}
