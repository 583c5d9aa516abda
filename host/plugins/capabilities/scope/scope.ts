import type { RequestContext } from '../../../core/request-context.ts';
import type { Granted } from '../../rights/grants.ts';
import type {
  AudioPort,
  DeploymentCallOptions,
  DeploymentPort,
  ImagePort,
  MediaScopePort,
  PluginPorts,
  UploadedFile,
  UserPorts,
  VideoPort,
} from '../../ports.ts';
import type { CapabilityCalls } from '../calls.ts';
import type { HeldChars } from './held-chars.ts';
import type { RequestUrls } from './request-urls.ts';
import type { ValueStream } from './value-stream.ts';

/** What a guest holds, by the number that it knows it by. */
export type Resource =
  | { readonly kind: 'video'; readonly video: VideoPort }
  | { readonly kind: 'audio'; readonly audio: AudioPort }
  | { readonly kind: 'image'; readonly image: ImagePort }
  | { readonly kind: 'stream'; readonly stream: ValueStream }
  | { readonly kind: 'task'; readonly task: HelperTask };

/** A helper at work. */
export interface HelperTask {
  readonly result: Promise<string>;
  cancel(): void;
}

/** One invocation, as the capabilities of this folder see it. */
export interface CapabilityScope {
  readonly ports: Pick<PluginPorts, 'http'> & UserPorts;
  /** The plugin's name. */
  readonly plugin: string;
  readonly granted: Granted;
  readonly files: ReadonlyMap<string, UploadedFile>;
  readonly requestUrls: RequestUrls;
  /** Ends with the invocation. */
  readonly signal: AbortSignal;
  /** Facts about the request, at the place of the call in the trace. */
  readonly context: RequestContext;
  /** Absent in a helper. */
  readonly startHelper: ((name: string, input: string, signal: AbortSignal) => Promise<string>) | undefined;
  media(): MediaScopePort;
  deployment(name: string): DeploymentPort;
  /** The options of each call of a deployment. */
  callOptions(): DeploymentCallOptions;
  /** What the host holds for the guest's helpers. */
  readonly held: HeldChars;
  /** Counts so many milliseconds as computed by the guest. */
  charge(ms: number): void;
  /** Sends one streamed value, as JSON. */
  write(chunk: string): Promise<void>;
  keep(resource: Resource): number;
  get<K extends Resource['kind']>(handle: number, kind: K): Resource & { kind: K };
  /** A stream of a deployment's values, kept. */
  openStream(deployment: string, method: string, args: Record<string, unknown>): number;
}

/** How the calls of some capabilities are done. */
export type CallsOf<O extends keyof CapabilityCalls> = {
  readonly [K in O]: (
    scope: CapabilityScope,
    ...args: CapabilityCalls[K]['args']
  ) => Promise<CapabilityCalls[K]['value']>;
};
