import type { MemberFiles } from '../../base/certificates/index.ts';
import { type AanaError, type ErrorRecord, fail } from '../../base/core/errors.ts';
import type { WireContext } from '../../base/core/request-context.ts';
import type { LogFields, LogLevel } from '../../base/core/log/logger.ts';
import type { ReplicaMemory } from './replica-memory.ts';
import type { ReplicaMetric } from './replica-metrics.ts';

/** A frame of an end that calls the other one. Either end may call, and each numbers its own calls. */
export type CallRequest =
  | {
      readonly type: 'call';
      readonly id: number;
      readonly method: string;
      readonly args: Record<string, unknown>;
      readonly stream: boolean;
      /** Argument whose values follow in `feed` frames. */ readonly feed?: string | undefined;
      readonly context?: WireContext | undefined;
      /** The model that the caller has named, of a deployment with many. */
      readonly multiplexedModelId?: string | undefined;
      /** Whether the caller wants `call-progress`. */ readonly progress?: boolean | undefined;
      /** Whether it takes a place beyond the number of calls that the replica runs. */
      readonly beyond?: boolean | undefined;
      /** Beginning of messages about its arguments, which the caller could only check against JSON Schemas. */
      readonly unchecked?: string | undefined;
      /** The call of the other end for whose work this one is made. */ readonly parent?: number | undefined;
    }
  | { readonly type: 'cancel'; readonly id: number }
  /** The reader of a stream has taken `values` more values. */
  | { readonly type: 'ack'; readonly id: number; readonly values: number }
  /** Values that the caller sends into a running call. */
  | { readonly type: 'feed'; readonly id: number; readonly values: readonly unknown[] }
  /** The caller has sent its last value, or could not make the next one because of `error`. */
  | { readonly type: 'fed'; readonly id: number; readonly error?: ErrorRecord | undefined };

/** A frame of an end that was called. */
export type CallAnswer =
  /** The call has a place and runs. Sent before anything of it is done, only by replicas. */
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'result'; readonly id: number; readonly value: unknown }
  /** The result of a call that returned bytes. */
  | { readonly type: 'bytes'; readonly id: number; readonly bytes: Uint8Array }
  /** All values of all streams since the previous frame of this type: one frame for each step of the engine. */
  | {
      readonly type: 'chunks';
      readonly batches: readonly { readonly id: number; readonly values: readonly unknown[] }[];
    }
  /** A stream has ended. `value` is the value that the method returned after its last one. */
  | { readonly type: 'end'; readonly id: number; readonly value?: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: ErrorRecord }
  /**
   * The part of a call that is done, from 0 to 1. Each frame of a call has a higher whole percent than the one before.
   */
  | { readonly type: 'call-progress'; readonly id: number; readonly fraction: number }
  /** The method has taken `values` more values of the caller's feed, or may be sent that many at the start. */
  | { readonly type: 'taken'; readonly id: number; readonly values: number }
  /** The call did not begin, because calls of other connections take all places. Nothing of it was used. */
  | { readonly type: 'full'; readonly id: number };

/** Replaces the spec with which the replica was started. Answered like a call. */
export interface ReconfigureFrame {
  readonly type: 'reconfigure';
  readonly id: number;
  readonly spec: unknown;
}

/** A TCP address. */
export interface TcpAddress {
  /** Address or name of a machine. */
  readonly host: string;
  readonly port: number;
}

/** Where a replica listens for hosts. */
export interface ReplicaAddress {
  /** Path of a Unix socket, for those of the same machine. */
  readonly socket: string;
  /** For those of other machines, which speak TLS. */
  readonly tcp?: TcpAddress | undefined;
  /** Secret of this process of the replica, with which hosts begin. */
  readonly token: string;
}

/** The method of a host that returns bytes of an artifact for a call: `id`, and `from`, the place of the first byte. */
export const READ_ARTIFACT = 'read_artifact';

/** Folders of a replica for artifacts. */
export interface ArtifactFolders {
  /** Folders of hosts, in which it finds artifacts if it is on their machine. */
  readonly roots: readonly string[];
  /** A folder for copies of artifacts that it does not find. It is made when it is needed. */
  readonly copies: string;
}

/** Says that the sender's event loop runs. See `Heartbeat`. */
export interface BeatFrame {
  readonly type: 'beat';
}

/** A frame from a host to a replica on a connection that the host has made. `hello` is the first one. */
export type DataRequest = { readonly type: 'hello'; readonly token: string } | CallRequest | CallAnswer;

/** A frame from a replica on such a connection. The first one is `load`. `shutdown`: it ends as it was told. */
export type DataAnswer = LoadFrame | { readonly type: 'shutdown' } | CallRequest | CallAnswer;

/** Number of calls of other connections on the replica, and of places that are kept for them. */
export interface LoadFrame {
  readonly type: 'load';
  readonly others: number;
}

/** A frame from the host to a replica. */
export type HostFrame =
  | {
      readonly type: 'start';
      readonly implementation: string;
      readonly spec: unknown;
      /** Absent: it gets no artifacts. */ readonly artifacts?: ArtifactFolders | undefined;
      /** Calls that the replica runs at the same time, of all hosts together. */ readonly maxOngoing: number;
      /** Where it listens for further hosts. Absent: it has only this connection. */
      readonly listen?: ReplicaAddress | undefined;
      /** As which member of a cluster it also listens at `listen.tcp`, on a port that the system chooses. */
      readonly member?: MemberFiles | undefined;
    }
  | { readonly type: 'bounds'; readonly maxOngoing: number }
  | ReconfigureFrame
  | { readonly type: 'ping' }
  | { readonly type: 'shutdown' }
  | CallRequest
  | CallAnswer;

/** A frame from a replica to the host. */
export type ReplicaFrame =
  | {
      readonly type: 'ready';
      readonly info: unknown;
      readonly code?: string | undefined;
      readonly memory?: ReplicaMemory | undefined;
      /** Where it listens for further hosts. */
      readonly listens?: ReplicaAddress | undefined;
    }
  /** Loading failed and must not be retried. The process ends after it. */
  | { readonly type: 'failed'; readonly error: ErrorRecord }
  | { readonly type: 'progress'; readonly fraction?: number | undefined; readonly text: string }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  /** `beats` grows while the engine is `busy`; otherwise it hangs. `cpuMs` is what the process had of processors. */
  | {
      readonly type: 'pong';
      readonly steps: number;
      readonly busy: boolean;
      readonly beats: number;
      readonly cpuMs: number;
      readonly memory?: ReplicaMemory | undefined;
    }
  /** The ids of all models that are there or being loaded, of an implementation with many. */
  | { readonly type: 'models'; readonly ids: readonly string[] }
  | LoadFrame
  /** Sent after each `pong`, and before the process ends as it was told. */
  | { readonly type: 'metrics'; readonly metrics: readonly ReplicaMetric[] }
  | CallRequest
  | CallAnswer;

export type Frame = HostFrame | ReplicaFrame | DataRequest | DataAnswer | BeatFrame;

const REQUESTS: ReadonlySet<string> = new Set<CallRequest['type']>(['call', 'cancel', 'ack', 'feed', 'fed']);
const ANSWERS: ReadonlySet<string> = new Set<CallAnswer['type']>([
  'begun',
  'result',
  'bytes',
  'chunks',
  'end',
  'error',
  'call-progress',
  'taken',
  'full',
]);

export const isCallRequest = (frame: Frame): frame is CallRequest => REQUESTS.has(frame.type);
export const isCallAnswer = (frame: Frame): frame is CallAnswer => ANSWERS.has(frame.type);

/**
 * A frame on the wire: the length of the rest as 4 big-endian bytes, one byte for the type, and the other fields as a
 * JSON object; of `bytes` the number of the call as 6 big-endian bytes, and the bytes. The numbers of types never
 * change.
 */
const TYPE_CODES: Readonly<Record<Frame['type'], number>> = {
  start: 1,
  call: 2,
  cancel: 3,
  ack: 4,
  ping: 5,
  shutdown: 6,
  reconfigure: 7,
  feed: 8,
  fed: 9,
  bounds: 10,
  hello: 11,
  beat: 12,
  ready: 16,
  failed: 17,
  progress: 18,
  log: 19,
  result: 20,
  chunks: 21,
  end: 22,
  error: 23,
  pong: 24,
  metrics: 25,
  'call-progress': 26,
  taken: 27,
  models: 28,
  load: 29,
  full: 30,
  begun: 31,
  bytes: 32,
};

const TYPES_BY_CODE = new Map(Object.entries(TYPE_CODES).map(([type, code]) => [code, type]));

/** Required fields of each frame, with their JavaScript types. */
const REQUIRED: Readonly<
  Record<Frame['type'], Readonly<Record<string, 'number' | 'string' | 'boolean' | 'object' | 'array'>>>
> = {
  start: { implementation: 'string', maxOngoing: 'number' },
  bounds: { maxOngoing: 'number' },
  hello: { token: 'string' },
  beat: {},
  call: { id: 'number', method: 'string', args: 'object', stream: 'boolean' },
  reconfigure: { id: 'number' },
  cancel: { id: 'number' },
  ack: { id: 'number', values: 'number' },
  feed: { id: 'number', values: 'array' },
  fed: { id: 'number' },
  ping: {},
  shutdown: {},
  ready: {},
  failed: { error: 'object' },
  progress: { text: 'string' },
  log: { level: 'string', message: 'string', fields: 'object' },
  result: { id: 'number' },
  bytes: {}, // not JSON
  chunks: { batches: 'array' },
  end: { id: 'number' },
  error: { id: 'number', error: 'object' },
  taken: { id: 'number', values: 'number' },
  pong: { steps: 'number', busy: 'boolean', beats: 'number', cpuMs: 'number' },
  metrics: { metrics: 'array' },
  models: { ids: 'array' },
  load: { others: 'number' },
  full: { id: 'number' },
  begun: { id: 'number' },
  'call-progress': { id: 'number', fraction: 'number' },
};

const HEADER_BYTES = 5;
/** Of the number of the call in front of bytes. */
const NUMBER_BYTES = 6;
/** An hour of speech with word times is about 3 MB. */
export const MAX_FRAME_BYTES: number = 64 * 1024 * 1024;

/** Values of one stream that may be in transit before the reader must take some. */
export const STREAM_WINDOW = 64;

/** Values of one feed that may be in transit before the method must take some. The replica grants them at the start. */
export const FEED_WINDOW = 16;

/** Returns the error for a peer that does not speak this protocol. The connection must not be used any more. */
export function protocolError(message: string): AanaError {
  return fail('ReplicaProtocolError', message);
}

/** Encodes a frame. Throws when it is larger than {@link MAX_FRAME_BYTES}, or cannot be represented as JSON. */
export function encodeFrame(frame: Frame, maxBytes: number = MAX_FRAME_BYTES): Buffer {
  if (frame.type === 'bytes') {
    const encoded = frameOf(frame.type, NUMBER_BYTES + frame.bytes.length, maxBytes);
    encoded.writeUIntBE(frame.id, HEADER_BYTES, NUMBER_BYTES);
    encoded.set(frame.bytes, HEADER_BYTES + NUMBER_BYTES);
    return encoded;
  }
  const { type, ...fields } = frame;
  const json = JSON.stringify(fields);
  const encoded = frameOf(type, Buffer.byteLength(json), maxBytes);
  encoded.write(json, HEADER_BYTES);
  return encoded;
}

/** Returns a frame with room for `contentBytes` bytes after its header. */
function frameOf(type: Frame['type'], contentBytes: number, maxBytes: number): Buffer {
  const length = 1 + contentBytes;
  if (length > maxBytes)
    throw fail('MessageTooLarge', `a ${type} frame of ${length} bytes is over the limit of ${maxBytes}`);
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeUInt32BE(length, 0);
  frame.writeUInt8(TYPE_CODES[type], 4);
  return frame;
}

/** Decodes frames from a stream of bytes. It must not be used again after it threw an error. */
export class FrameDecoder {
  /** Longest frame. It may be raised between two frames. */
  maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number = MAX_FRAME_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** Number of bytes of an incomplete frame. */
  get pendingBytes(): number {
    return this.#size;
  }

  /** Takes bytes, which {@link next} decodes. */
  push(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  /** Returns the next frame; undefined until all of it has arrived. */
  next(): Frame | undefined {
    const length = this.#nextLength();
    return length === undefined ? undefined : parseFrame(this.#take(4 + length));
  }

  /** Returns the length of the next frame when it is complete. */
  #nextLength(): number | undefined {
    if (this.#size < HEADER_BYTES) return undefined;
    this.#joinFirst(HEADER_BYTES);
    const first = this.#parts[0];
    const length = first?.readUInt32BE(0) ?? 0;
    if (length < 1 || length > this.maxBytes)
      throw protocolError(`a frame of ${length} bytes is over the limit of ${this.maxBytes}`);
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
   * Makes the first part at least `count` bytes long. Called only when that many bytes have arrived, so that long
   * frames are joined once.
   */
  #joinFirst(count: number): void {
    const first = this.#parts[0];
    if (first && first.length >= count) return;
    this.#parts = [Buffer.concat(this.#parts)];
  }
}

function parseFrame(bytes: Buffer): Frame {
  const type = TYPES_BY_CODE.get(bytes.readUInt8(4));
  if (type === undefined) throw protocolError(`received a frame of unknown type ${bytes.readUInt8(4)}`);
  if (type === 'bytes') return parseBytes(bytes.subarray(HEADER_BYTES));
  const fields = parseJson(bytes.toString('utf8', HEADER_BYTES), type);
  for (const [key, wanted] of Object.entries(REQUIRED[type as Frame['type']])) {
    const value = fields[key];
    const fits = wanted === 'array' ? Array.isArray(value) : typeof value === wanted && value !== null;
    if (!fits) throw protocolError(`received a ${type} frame without ${key}`);
  }
  return { ...fields, type } as Frame;
}

function parseBytes(content: Buffer): Frame {
  if (content.length < NUMBER_BYTES) throw protocolError('received a bytes frame without id');
  return { type: 'bytes', id: content.readUIntBE(0, NUMBER_BYTES), bytes: content.subarray(NUMBER_BYTES) };
}

function parseJson(text: string, type: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // the error is thrown below
  }
  throw protocolError(`received a ${type} frame that is not a JSON object`);
}
