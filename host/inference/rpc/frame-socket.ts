import type { Duplex } from 'node:stream';
import { contained } from '../../base/core/net/contained.ts';
import { encodeFrame, type Frame, FrameDecoder, MAX_FRAME_BYTES } from './frames.ts';

export interface FrameListener<In extends Frame> {
  onFrame(frame: In): void;
  /**
   * Called once when the other side has gone and all its frames were delivered. `error` is set after a violation of the
   * protocol.
   */
  onClose(error: Error | undefined): void;
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
  readonly #decoder = new FrameDecoder();
  #error: Error | undefined;

  /** `maxBytes` is the longest frame that is received. Default: that of the protocol. */
  constructor(socket: Duplex, listener: FrameListener<In>, maxBytes?: number) {
    if (maxBytes !== undefined) this.#decoder.maxBytes = maxBytes;
    this.#socket = socket;
    const fail = (error: unknown): void => {
      this.#error ??= error instanceof Error ? error : new Error(String(error));
      socket.destroy();
    };
    const take = (bytes: Buffer): void => {
      this.#decoder.push(bytes);
      // A frame is decoded when those before it were handled, because one of them may end the connection.
      for (let frame = this.#decoder.next(); frame; frame = this.#decoder.next()) {
        listener.onFrame(frame as In);
        if (socket.destroyed) return;
      }
    };
    socket.on('data', contained(take, fail));
    socket.on('end', () => socket.destroy());
    socket.on('error', () => socket.destroy()); // EPIPE, ECONNRESET: the other side has gone, 'close' follows
    socket.on(
      'close',
      contained(
        () => listener.onClose(this.#error),
        (error) => process.emitWarning(error instanceof Error ? error : String(error)),
      ),
    );
  }

  /** Receives frames of any length that the protocol allows. */
  receiveAll(): void {
    this.#decoder.maxBytes = MAX_FRAME_BYTES;
  }

  /** Sends a frame, in order. Does nothing after the other side has gone. Throws like {@link encodeFrame}. */
  send(frame: Out): void {
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
