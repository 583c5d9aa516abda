import type { SpanAttributes } from '../../../base/core/telemetry.ts';

/** Most characters of a transcript in a span. What is beyond them is cut. */
const MOST_CHARS = 32 * 1024;
const CUT = '…';

/** What results of transcription have in common. A live result that is not final is replaced by a later one. */
interface Heard {
  readonly type?: string;
  readonly text?: unknown;
  readonly transcription?: { readonly text?: unknown } | readonly { readonly text?: unknown }[];
}

/** Collects the transcript of one call from its result or its stream, for its span. */
export class TranscriptContent {
  #text = '';
  #isCut = false;

  add(values: readonly unknown[]): void {
    for (const value of values) for (const text of textsOf(value)) this.#append(text);
  }

  attributes(): SpanAttributes {
    return this.#text === '' ? {} : { 'aana.transcript': this.#isCut ? this.#text + CUT : this.#text };
  }

  #append(text: string): void {
    const room = MOST_CHARS - this.#text.length;
    if (text.length > room) this.#isCut = true;
    this.#text += text.slice(0, room);
  }
}

/** Returns the texts of a result, or of a value of a stream. */
function textsOf(value: unknown): string[] {
  const { type, text, transcription } = (value ?? {}) as Heard;
  if (type !== undefined) return type === 'final' && typeof text === 'string' ? [text] : [];
  if (!Array.isArray(transcription))
    return [(transcription as { readonly text?: unknown } | undefined)?.text].filter((one) => typeof one === 'string');
  const all = transcription.map((one: { readonly text?: unknown }) => String(one.text ?? ''));
  return all.flatMap((one, index) => (index === 0 ? [one] : ['\n', one])); // one line for each audio
}
