import type { Duplex } from 'node:stream';
import { contained } from '../../base/core/net/contained.ts';
import { type BeatFrame, encodeFrame, type Frame, FrameDecoder, MAX_FRAME_BYTES } from './frames.ts';
import { Heartbeat } from './heartbeat.ts';

export interface FrameListener<In extends Frame> {
  onFrame(frame: In): void;
  /**
   * Called once when the other side has gone and all its frames were delivered. `error` is set after a violation of the
   * protocol.
   */
  onClose(error: Error | undefined): void;
  /** Called when the other end, to which beats are sent, is silent, and when it is heard again. */
  onSilence?(isSilent: boolean): void;
}

/**
 * Types of which all frames of one turn of the event loop are sent with one system call. Other frames are sent at once,
 * because the process may be about to end.
 */
const OF_CALLS: ReadonlySet<Frame['type']> = new Set([
  'call',
  'ack',
  'feed',
  'fed',
  'result',
  'bytes',
  'chunks',
  'end',
  'error',
  'taken',
  'full',
]);

/** Sends and receives frames over a socket. */
export class FrameSocket<In extends Frame, Out extends Frame> {
  readonly #socket: Duplex;
  readonly #listener: FrameListener<In>;
  readonly #decoder = new FrameDecoder();
  #heartbeat: Heartbeat | undefined;
  #error: Error | undefined;

  /** `maxBytes` is the longest frame that is received. Default: that of the protocol. */
  constructor(socket: Duplex, listener: FrameListener<In>, maxBytes?: number) {
    if (maxBytes !== undefined) this.#decoder.maxBytes = maxBytes;
    this.#socket = socket;
    this.#listener = listener;
    const fail = (error: unknown): void => this.fail(error instanceof Error ? error : new Error(String(error)));
    const take = (bytes: Buffer): void => {
      this.#heartbeat?.heard();
      this.#decoder.push(bytes);
      // A frame is decoded when those before it were handled, because one of them may end the connection.
      for (let frame = this.#decoder.next(); frame; frame = this.#decoder.next()) {
        if (frame.type !== 'beat' || !this.#heartbeat) listener.onFrame(frame as In);
        if (socket.destroyed) return;
      }
    };
    socket.on('data', contained(take, fail));
    socket.on('end', () => socket.destroy());
    socket.on('error', () => socket.destroy()); // EPIPE, ECONNRESET: the other side has gone, 'close' follows
    socket.on(
      'close',
      contained(
        () => {
          this.#heartbeat?.stop();
          listener.onClose(this.#error);
        },
        (error) => process.emitWarning(error instanceof Error ? error : String(error)),
      ),
    );
  }

  /** Receives frames of any length that the protocol allows. */
  receiveAll(): void {
    this.#decoder.maxBytes = MAX_FRAME_BYTES;
  }

  /**
   * Sends beats from now on, and expects them: the listener learns when the other end is silent. With `endsSilent`, the
   * connection ends when that lasts, as it must over a network, which may lose it without a word.
   */
  beat({ endsSilent }: { readonly endsSilent: boolean }): void {
    this.#heartbeat ??= new Heartbeat({
      // More beats would tell no more to another end that does not read.
      beat: () => {
        if (!this.#socket.writableNeedDrain) this.#write({ type: 'beat' });
      },
      onSilence: (isSilent) => this.#listener.onSilence?.(isSilent),
      onLost: endsSilent ? () => this.fail(new Error('the other end was silent for too long')) : undefined,
    });
  }

  /** Ends the connection, for this reason. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  /** Sends a frame, in order. Does nothing after the other side has gone. Throws like {@link encodeFrame}. */
  send(frame: Out): void {
    this.#write(frame);
  }

  #write(frame: Out | BeatFrame): void {
    const bytes = encodeFrame(frame);
    if (this.#socket.destroyed || !this.#socket.writable) return;
    const socket = this.#socket;
    if (OF_CALLS.has(frame.type) && socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(bytes);
    if (!OF_CALLS.has(frame.type)) socket.uncork();
  }

  /**
   * Undefined while the other side reads as fast as frames are sent. Otherwise resolves when it has caught up or gone.
   */
  get drained(): Promise<void> | undefined {
    const socket = this.#socket;
    if (!socket.writableNeedDrain || socket.destroyed) return undefined;
    return new Promise((resolve) => {
      const done = (): void => {
        socket.off('drain', done).off('close', done);
        resolve();
      };
      socket.on('drain', done).on('close', done);
    });
  }

  /** Resolves when all frames have left this process. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed || !this.#socket.writable) resolve();
      else this.#socket.write('', () => resolve());
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
