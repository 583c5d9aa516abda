import { AanaError, type ErrorRecord } from '../core/errors.ts';
import type { WireContext } from '../core/request-context.ts';
import type { LogFields, LogLevel } from '../core/log/logger.ts';
import type { ReplicaMemory } from './replica-memory.ts';

/** From the host to a replica. */
export type HostFrame =
  | {
      readonly type: 'start';
      readonly implementation: string;
      readonly spec: unknown;
      /** Where artifacts lie. */ readonly artifactsDirs: readonly string[];
    }
  | {
      readonly type: 'call';
      readonly id: number;
      readonly method: string;
      readonly args: Record<string, unknown>;
      readonly stream: boolean;
      readonly context?: WireContext | undefined;
    }
  /** What it was started from is to be this from now on; answered like a call. */
  | { readonly type: 'reconfigure'; readonly id: number; readonly spec: unknown }
  | { readonly type: 'cancel'; readonly id: number }
  /** `values` more values of a stream were taken by its reader. */
  | { readonly type: 'ack'; readonly id: number; readonly values: number }
  | { readonly type: 'ping' }
  | { readonly type: 'shutdown' };

/** From a replica to the host. */
export type ReplicaFrame =
  | {
      readonly type: 'ready';
      readonly info: unknown;
      readonly code?: string | undefined;
      readonly memory?: ReplicaMemory | undefined;
    }
  /** Loading failed for good; the process ends after it. */
  | { readonly type: 'failed'; readonly error: ErrorRecord }
  | { readonly type: 'progress'; readonly fraction?: number | undefined; readonly text: string }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  | { readonly type: 'result'; readonly id: number; readonly value: unknown }
  /** All values of all streams since the last frame of this type: one frame for each step of the engine. */
  | {
      readonly type: 'chunks';
      readonly batches: readonly { readonly id: number; readonly values: readonly unknown[] }[];
    }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'error'; readonly id: number; readonly error: ErrorRecord }
  /** `beats` grows while it is `busy`, or it has hung. */
  | {
      readonly type: 'pong';
      readonly steps: number;
      readonly busy: boolean;
      readonly beats: number;
      readonly memory?: ReplicaMemory | undefined;
    };

export type Frame = HostFrame | ReplicaFrame;

/**
 * A frame on the wire: the length of what follows as 4 big-endian bytes, one byte for the type, and the other fields as
 * a JSON object. Types keep their numbers.
 */
const TYPE_CODES: Readonly<Record<Frame['type'], number>> = {
  start: 1,
  call: 2,
  cancel: 3,
  ack: 4,
  ping: 5,
  shutdown: 6,
  reconfigure: 7,
  ready: 16,
  failed: 17,
  progress: 18,
  log: 19,
  result: 20,
  chunks: 21,
  end: 22,
  error: 23,
  pong: 24,
};

const TYPES_BY_CODE = new Map(Object.entries(TYPE_CODES).map(([type, code]) => [code, type]));

/** What must be there, and of what JavaScript type, for a frame to be taken. */
const REQUIRED: Readonly<
  Record<Frame['type'], Readonly<Record<string, 'number' | 'string' | 'boolean' | 'object' | 'array'>>>
> = {
  start: { implementation: 'string' },
  call: { id: 'number', method: 'string', args: 'object', stream: 'boolean' },
  reconfigure: { id: 'number' },
  cancel: { id: 'number' },
  ack: { id: 'number', values: 'number' },
  ping: {},
  shutdown: {},
  ready: {},
  failed: { error: 'object' },
  progress: { text: 'string' },
  log: { level: 'string', message: 'string', fields: 'object' },
  result: { id: 'number' },
  chunks: { batches: 'array' },
  end: { id: 'number' },
  error: { id: 'number', error: 'object' },
  pong: { steps: 'number', busy: 'boolean', beats: 'number' },
};

const HEADER_BYTES = 5;
/** An hour of speech with word times is about 3 MB. */
export const MAX_FRAME_BYTES: number = 64 * 1024 * 1024;

/** Values of one stream that may be on their way before the reader must have taken some. */
export const STREAM_WINDOW = 64;

/** Thrown when the other side does not speak this protocol; the connection is of no more use. */
export function protocolError(message: string): AanaError {
  return new AanaError('ReplicaProtocolError', 'internal', message);
}

/** Throws when the frame is over {@link MAX_FRAME_BYTES}, or holds what JSON cannot. */
export function encodeFrame(frame: Frame, maxBytes: number = MAX_FRAME_BYTES): Buffer {
  const { type, ...fields } = frame;
  const json = JSON.stringify(fields);
  const length = 1 + Buffer.byteLength(json);
  if (length > maxBytes)
    throw new AanaError(
      'MessageTooLarge',
      'too-large',
      `a ${type} message of ${length} bytes is over the limit of ${maxBytes}`,
    );
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt8(TYPE_CODES[type], 4);
  bytes.write(json, HEADER_BYTES);
  return bytes;
}

/** Takes bytes as they come and gives whole frames. After it threw, it must not be used again. */
export class FrameDecoder {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number = MAX_FRAME_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of a frame that is not whole yet. */
  get pendingBytes(): number {
    return this.#size;
  }

  push(bytes: Buffer): Frame[] {
    this.#parts.push(bytes);
    this.#size += bytes.length;
    const frames: Frame[] = [];
    for (let length = this.#nextLength(); length !== undefined; length = this.#nextLength()) {
      frames.push(parseFrame(this.#take(4 + length)));
    }
    return frames;
  }

  /** Length of the next frame when all of it is here. */
  #nextLength(): number | undefined {
    if (this.#size < HEADER_BYTES) return undefined;
    this.#joinFirst(HEADER_BYTES);
    const first = this.#parts[0];
    const length = first?.readUInt32BE(0) ?? 0;
    if (length < 1 || length > this.#maxBytes)
      throw protocolError(`a frame of ${length} bytes: the limit is ${this.#maxBytes}`);
    return this.#size >= 4 + length ? length : undefined;
  }

  #take(count: number): Buffer {
    this.#joinFirst(count);
    const first = this.#parts[0] ?? Buffer.alloc(0);
    if (first.length === count) this.#parts.shift();
    else this.#parts[0] = first.subarray(count);
    this.#size -= count;
    return first.subarray(0, count);
  }

  /**
   * Makes the first part at least `count` bytes long. Only called when that many are here, so long frames are joined
   * once.
   */
  #joinFirst(count: number): void {
    const first = this.#parts[0];
    if (first && first.length >= count) return;
    this.#parts = [Buffer.concat(this.#parts)];
  }
}

function parseFrame(bytes: Buffer): Frame {
  const type = TYPES_BY_CODE.get(bytes.readUInt8(4));
  if (type === undefined) throw protocolError(`a frame of unknown type ${bytes.readUInt8(4)}`);
  const fields = parseJson(bytes.toString('utf8', HEADER_BYTES), type);
  for (const [key, wanted] of Object.entries(REQUIRED[type as Frame['type']])) {
    const value = fields[key];
    const fits = wanted === 'array' ? Array.isArray(value) : typeof value === wanted && value !== null;
    if (!fits) throw protocolError(`a ${type} frame without ${key}`);
  }
  return { ...fields, type } as Frame;
}

function parseJson(text: string, type: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw protocolError(`a ${type} frame that is not a JSON object`);
}
