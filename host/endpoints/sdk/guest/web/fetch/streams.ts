/**
 * The streams of the web in components whose code names them: the reference implementation, and the two transforms of
 * text that it lacks.
 */
import { TransformStream } from 'web-streams-polyfill';
import { TextDecoder, TextEncoder } from '../encoding.ts';

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  WritableStream,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';

export class TextDecoderStream extends TransformStream<Uint8Array, string> {
  readonly #decoder: TextDecoder;

  constructor(...args: ConstructorParameters<typeof TextDecoder>) {
    const decoder = new TextDecoder(...args);
    super({
      transform(bytes, controller) {
        const text = decoder.decode(bytes, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    });
    this.#decoder = decoder;
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }
}

export class TextEncoderStream extends TransformStream<string, Uint8Array> {
  readonly encoding = 'utf-8';

  constructor() {
    const encoder = new TextEncoder();
    let half = ''; // of a surrogate pair
    super({
      transform(piece, controller) {
        const text = half + String(piece);
        const last = text.charCodeAt(text.length - 1);
        half = last >= 0xd800 && last < 0xdc00 ? text.slice(-1) : '';
        const whole = half === '' ? text : text.slice(0, -1);
        if (whole !== '') controller.enqueue(encoder.encode(whole));
      },
      flush(controller) {
        if (half !== '') controller.enqueue(encoder.encode(half));
      },
    });
  }
}
