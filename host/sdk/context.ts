import type { VideoInput } from '../schemas/index.ts';
import { AsrDeployment, Deployment, LlmDeployment } from './deployments.ts';
import { type HandleScope, type Stream, Video } from './handles.ts';
import { hostCall } from './host-error.ts';
import type { Host, HostVideoSource, LogLevel } from './host.ts';
import { uuid } from './uuid.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log lines; the host adds the plugin's name and the request's id. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** What an endpoint's `run` may use. Everything opened through it is freed when `run` ends. */
export class Context {
  readonly log: Log;
  readonly video: { /** Fetches (or finds) and probes a video. */ open(input: VideoInput): Video };
  /** Randomness of the host. */
  readonly random: { /** At most 65,536. */ bytes(length: number): Uint8Array; /** Version 4. */ uuid(): string };
  /** The id of the request, as in the `x-request-id` header. */
  readonly requestId: string;
  /** @internal */
  protected readonly host: Host;
  readonly #scope: HandleScope;

  constructor(host: Host, scope: HandleScope) {
    this.host = host;
    this.#scope = scope;
    this.log = createLog(host);
    this.requestId = host.requestId();
    this.video = { open: (input) => new Video(hostCall(() => host.openVideo(videoSource(input))), scope) };
    this.random = { bytes: (length) => host.randomBytes(length), uuid: () => uuid(host.randomBytes(16)) };
  }

  /** Milliseconds until the host ends this run. */
  get remainingMs(): number {
    return this.host.remainingMs();
  }

  /** Whether the client has gone away; the next host call then fails with `cancelled`. */
  isCancelled(): boolean {
    return this.host.isCancelled();
  }

  asr(deployment: string): AsrDeployment {
    return new AsrDeployment(deployment, this.host, this.#scope);
  }

  llm(deployment: string): LlmDeployment {
    return new LlmDeployment(deployment, this.host, this.#scope);
  }

  deployment(name: string): Deployment {
    return new Deployment(name, this.host, this.#scope);
  }
}

/** The context of a streaming endpoint. */
export class StreamContext<T> extends Context {
  readonly #encode: (value: T) => string;

  /** @param encode checks a value against the output schema and gives its JSON. */
  constructor(host: Host, scope: HandleScope, encode: (value: T) => string) {
    super(host, scope);
    this.#encode = encode;
  }

  /** Sends one value; returns when the client has room for more, throws `cancelled` when it has gone. */
  write(value: T): void {
    const chunk = this.#encode(value);
    hostCall(() => this.host.write(chunk));
  }

  /** Sends all that is left of a stream, as its values are made, and frees it. */
  forward(stream: Stream<T>): void {
    stream.forwardTo(this.host);
  }
}

export function createLog(host: Host): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void =>
      host.log(level, message, fields === undefined ? '' : JSON.stringify(fields));
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function videoSource(input: VideoInput): HostVideoSource {
  const source: HostVideoSource = {};
  if (input.path != null) source.path = input.path;
  if (input.url != null) source.url = input.url;
  if (input.content != null) source.content = input.content;
  if (input.media_id != null) source.mediaId = input.media_id;
  return source;
}
