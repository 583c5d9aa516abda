import type { AsrOutput, AsrSegment } from '../schemas/index.ts';
import { oneLine } from './one-line.ts';

/**
 * Returns the text of a transcript. Where speakers are distinguished, each turn is a line such as `Ada: Good morning.`
 */
export function toText(output: AsrOutput): string {
  const text = spokenText(output);
  return text === '' ? '' : `${text}\n`;
}

/** Returns the text without a line break at its end. */
export function spokenText({
  segments,
  transcription,
}: {
  readonly segments: readonly Pick<AsrSegment, 'text' | 'speaker'>[];
  readonly transcription: AsrOutput['transcription'];
}): string {
  if (segments.every(({ speaker }) => speaker === null)) return oneLine(transcription.text);
  const turns: { readonly speaker: string | null; text: string }[] = [];
  for (const { speaker, text } of segments) {
    if (oneLine(text) === '') continue;
    const last = turns.at(-1);
    if (last && last.speaker === speaker) last.text += text;
    else turns.push({ speaker, text });
  }
  return turns.map(({ speaker, text }) => `${nameOf(speaker)}${oneLine(text)}`).join('\n');
}

function nameOf(speaker: string | null): string {
  const name = oneLine(speaker ?? '');
  return name === '' ? '' : `${name}: `;
}
