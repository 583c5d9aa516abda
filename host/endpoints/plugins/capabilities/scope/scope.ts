import type { RequestContext } from '../../../../base/core/request-context.ts';
import type { Granted } from '../../rights/grants.ts';
import type { SettingValues } from '../../rights/plugin-settings.ts';
import type {
  AnswerPort,
  AudioPort,
  DeploymentCallOptions,
  DeploymentPort,
  FrameImagePort,
  HttpExchange,
  HttpPort,
  ImagePort,
  MediaScopePort,
  UploadedFile,
  UserPorts,
  VideoPort,
} from '../../ports.ts';
import type { HostCalls, HostOperation } from '../../invocation/protocol.ts';
import type { HeldChars } from './held-chars.ts';
import type { Base64Bytes } from '../../sandbox/index.ts';
import type { HeldFrames } from './held-frames.ts';
import type { RequestUrls } from './request-urls.ts';
import type { ValueStream } from './value-stream.ts';

/** A resource that a guest holds through a handle. */
export type Resource =
  | { readonly kind: 'video'; readonly video: VideoPort }
  | { readonly kind: 'audio'; readonly audio: AudioPort }
  | { readonly kind: 'image'; readonly image: ImagePort | FrameImagePort }
  | { readonly kind: 'frames'; readonly frames: HeldFrames }
  | { readonly kind: 'stream'; readonly stream: ValueStream }
  | { readonly kind: 'exchange'; readonly exchange: HttpExchange; readonly text: HttpText }
  | { readonly kind: 'helper'; readonly helper: RunningHelper };

/** Reads the body of an answer as text. */
export interface HttpText {
  decode(piece: Uint8Array, options: { readonly stream: boolean }): string;
}

/** A helper that runs. */
export interface RunningHelper {
  readonly result: Promise<string>;
  cancel(): void;
}

/** One invocation, as the capabilities see it. */
export interface CapabilityScope {
  readonly http: HttpPort;
  /** The data of the user whom the invocation serves. */
  readonly user: UserPorts;
  /** The plugin's name. */
  readonly plugin: string;
  readonly granted: Granted;
  readonly settings: SettingValues;
  readonly files: ReadonlyMap<string, UploadedFile>;
  readonly requestUrls: RequestUrls;
  /** Aborted when the invocation ends. */
  readonly signal: AbortSignal;
  /** Facts about the request, with the position of the call in the trace. */
  readonly context: RequestContext;
  /** Absent in a helper. */
  readonly startHelper: ((name: string, input: string, signal: AbortSignal) => Promise<string>) | undefined;
  media(): MediaScopePort;
  deployment(name: string): DeploymentPort;
  /** Options for a call of a deployment that ends with the call of the guest, with the signal of the invocation. */
  callOptions(): DeploymentCallOptions;
  /** Options for a stream, which goes on after the call that opened it. Its place in the trace is the invocation. */
  streamOptions(signal: AbortSignal): DeploymentCallOptions;
  /** Counts characters that the host holds for the guest's helpers. */
  readonly held: HeldChars;
  /** Adds milliseconds to the computing time of the guest. */
  charge(ms: number): void;
  /** Sends one streamed value, which is JSON. */
  write(chunk: string): Promise<void>;
  /** Takes the answer that is bytes. Throws where the endpoint has none. */
  readonly answer: { begin: AnswerPort['begin']; sendBytes: AnswerPort['send'] };
  /** Throws `TooManyHandles` when `keep` would. */
  requireRoom(): void;
  keep(resource: Resource): number;
  get<K extends Resource['kind']>(handle: number, kind: K): Resource & { kind: K };
}

/** The value of an answer. A text that is base64 may be given as its bytes. */
type Answer<V> = string extends V ? V | Base64Bytes : V;

/** Functions that answer calls, by the name of the call. */
export type CallsOf<O extends HostOperation> = {
  readonly [K in O]: (scope: CapabilityScope, ...args: HostCalls[K]['args']) => Promise<Answer<HostCalls[K]['value']>>;
};
