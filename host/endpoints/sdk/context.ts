import type { ImageInput, VideoInput } from '../../base/schemas/index.ts';
import {
  type Asr,
  AsrDeployment,
  Deployment,
  type Diarization,
  DiarizationDeployment,
  type Llm,
  LlmDeployment,
  type Vad,
  VadDeployment,
} from './capabilities/deployments.ts';
import { type Ocr, OcrDeployment } from './capabilities/ocr-deployment.ts';
import {
  type Embedder,
  EmbeddingDeployment,
  RerankDeployment,
  type Reranker,
} from './capabilities/retrieval-deployments.ts';
import { type HandleScope, Image, type Stream, Video } from './capabilities/handles.ts';
import { Settings } from './capabilities/settings.ts';
import { UploadedFile } from './capabilities/uploads.ts';
import { hostCall } from './host-error.ts';
import type { Image as HostImage, Source } from '../../../wit/generated/world/media.ts';
import type { Host, LogLevel } from './host.ts';
import { toBase64 } from './guest/base64.ts';
import { cancelSignal } from './guest/cancel-signal.ts';
import { preparedPromise, waitFor } from './guest/event-loop.ts';
import { dataUrlBytes } from './guest/data-url.ts';
import { uuid } from './guest/uuid.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log lines. The host adds the name of the plugin and the id of the request. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface ImageOpener {
  /** Fetches (or finds) and probes an image. */
  open(input: ImageInput): Promise<Image>;
  /** Probes the file of an image, such as a PNG: its bytes, or a data URL with its base64. At most 16,777,216 bytes. */
  decode(file: Uint8Array | string): Promise<Image>;
}

export interface VideoOpener {
  /** Fetches (or finds) and probes a video. */
  open(input: VideoInput): Promise<Video>;
}

export interface Random {
  /** At most 65,536. */
  bytes(length: number): Uint8Array;
  /** Version 4. */
  uuid(): string;
}

export interface Clock {
  now(): Date;
  /** Milliseconds since some moment; never goes back. */
  monotonicMs(): number;
}

/**
 * The second argument of an endpoint's `run`. Everything that is opened through it is freed when `run` ends. Members
 * are created when they are first used.
 */
export class Context {
  /** @internal */
  protected readonly host: Host;
  readonly #scope: HandleScope;
  #log: Log | undefined;
  #signal: AbortSignal | undefined;
  #deadline: Date | undefined;

  constructor(host: Host, scope: HandleScope) {
    this.host = host;
    this.#scope = scope;
  }

  get log(): Log {
    return (this.#log ??= createLog(this.host));
  }

  /** The settings of the plugin. */
  get settings(): Settings {
    return new Settings(this.host.settings);
  }

  get image(): ImageOpener {
    const { Image: images } = this.host.media;
    const opened = (image: HostImage): Image => new Image(image, this.#scope);
    return {
      open: (input) =>
        preparedPromise(
          () => mediaSource(input),
          (source) => images.open(source),
          opened,
        ),
      decode: (file) =>
        preparedPromise(
          () => toBase64(typeof file === 'string' ? dataUrlBytes(file) : file),
          (base64) => images.decodeBase64(base64),
          opened,
        ),
    };
  }

  get video(): VideoOpener {
    return {
      open: (input) =>
        preparedPromise(
          () => mediaSource(input),
          (source) => this.host.media.Video.open(source),
          (video) => new Video(video, this.#scope),
        ),
    };
  }

  /**
   * Waits for a call of the host in a function that is not asynchronous: `ctx.wait(ctx.llm.chat(dialog))` returns the
   * answer, or throws. Takes only the promise that the call returned. Nothing else of the run goes on meanwhile, except
   * other calls of the host.
   */
  wait<T>(call: Promise<T>): T {
    return waitFor(call);
  }

  /**
   * Returns the uploaded file of a field, which the input names ({@link FileInput}). Throws `UploadedFileNotFound`.
   */
  file(field: string): UploadedFile {
    return new UploadedFile(this.host.uploads, field);
  }

  /** Random bytes from the host. */
  get random(): Random {
    return { bytes: (length) => this.host.random.bytes(length), uuid: () => uuid(this.host.random.bytes(16)) };
  }

  get clock(): Clock {
    return { now: () => new Date(this.host.now()), monotonicMs: () => this.host.monotonicNow() };
  }

  /** The time when the host ends this run. */
  get deadline(): Date {
    return (this.#deadline ??= new Date(this.host.now() + this.remainingMs));
  }

  /**
   * Is aborted when the run must end: its client has gone, its task was cancelled, or its time is over. `run` is not
   * interrupted: events come while it waits, and `aborted` is up to date at any time. The reason is a `HostError`.
   */
  get signal(): AbortSignal {
    return (this.#signal ??= cancelSignal(this.host.invocation));
  }

  /** The id of the request, as in the `x-request-id` header. */
  get requestId(): string {
    return this.host.invocation.requestId();
  }

  /** The user of the request's API key. Undefined when no API key is required. */
  get user(): string | undefined {
    return this.host.invocation.user();
  }

  /**
   * The priority: a whole number, higher is sooner, 0 for ordinary requests. Calls of deployments have the same
   * priority.
   */
  get priority(): number {
    return this.host.invocation.priority();
  }

  /**
   * The position in a distributed trace, in the form of the W3C's `traceparent` header. Undefined when the request is
   * in no trace.
   */
  get traceparent(): string | undefined {
    return this.host.invocation.traceparent();
  }

  /** Milliseconds until the host ends this run. */
  get remainingMs(): number {
    return Number(this.host.invocation.remainingMs());
  }

  /** Returns whether the client has gone. The next host call then fails with `cancelled`. */
  isCancelled(): boolean {
    return this.host.invocation.isCancelled();
  }

  /**
   * Reports the progress: a fraction from 0 to 1, and the current step. The host logs it, and watchers of a task see
   * it. With `until`, deployments that work in this step move the progress from `fraction` to `until`. Before the first
   * report, they move it from 0 to 1.
   */
  progress(fraction: number, text = '', { until }: { readonly until?: number } = {}): void {
    if (until === undefined) this.host.progress.report(fraction, text);
    else this.host.progress.reportStep(fraction, until, text);
  }

  /** Speech recognition by the deployment `asr_deployment`, or by another one: `ctx.asr('name')`. */
  get asr(): Asr {
    const of = (deployment: string): AsrDeployment => new AsrDeployment(deployment, this.host, this.#scope);
    const usual = of('asr_deployment');
    return Object.assign(of, {
      transcribe: (...args: Parameters<Asr['transcribe']>) => usual.transcribe(...args),
      transcribeStream: (...args: Parameters<Asr['transcribeStream']>) => usual.transcribeStream(...args),
      transcribeBatch: (...args: Parameters<Asr['transcribeBatch']>) => usual.transcribeBatch(...args),
      transcribeInChunks: (...args: Parameters<Asr['transcribeInChunks']>) => usual.transcribeInChunks(...args),
    });
  }

  /** Voice activity detection by the deployment `vad_deployment`, or by another one: `ctx.vad('name')`. */
  get vad(): Vad {
    const of = (deployment: string): VadDeployment => new VadDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      asrPreprocessVad: (...args: Parameters<Vad['asrPreprocessVad']>) =>
        of('vad_deployment').asrPreprocessVad(...args),
    });
  }

  /** Speaker diarization by the deployment `diarization_deployment`, or by another one: `ctx.diarization('name')`. */
  get diarization(): Diarization {
    const of = (deployment: string): DiarizationDeployment =>
      new DiarizationDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      diarize: (...args: Parameters<Diarization['diarize']>) => of('diarization_deployment').diarize(...args),
    });
  }

  /** Texts in images by the deployment `ocr_deployment`, or by another one: `ctx.ocr('name')`. */
  get ocr(): Ocr {
    const of = (deployment: string): OcrDeployment => new OcrDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      recognize: (...args: Parameters<Ocr['recognize']>) => of('ocr_deployment').recognize(...args),
      recognizeBatch: (...args: Parameters<Ocr['recognizeBatch']>) => of('ocr_deployment').recognizeBatch(...args),
    });
  }

  /** Text generation by the deployment `llm_deployment`, or by another one: `ctx.llm('name')`. */
  get llm(): Llm {
    const of = (deployment: string): LlmDeployment => new LlmDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      chat: (...args: Parameters<Llm['chat']>) => of('llm_deployment').chat(...args),
      chatStream: (...args: Parameters<Llm['chatStream']>) => of('llm_deployment').chatStream(...args),
      countTokens: (...args: Parameters<Llm['countTokens']>) => of('llm_deployment').countTokens(...args),
    });
  }

  /** Vectors of texts by the deployment `embedding_deployment`, or by another one: `ctx.embeddings('name')`. */
  get embeddings(): Embedder {
    const of = (deployment: string): EmbeddingDeployment => new EmbeddingDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      embed: (...args: Parameters<Embedder['embed']>) => of('embedding_deployment').embed(...args),
      embedBatch: (...args: Parameters<Embedder['embedBatch']>) => of('embedding_deployment').embedBatch(...args),
    });
  }

  /** Order of documents by the deployment `rerank_deployment`, or by another one: `ctx.rerank('name')`. */
  get rerank(): Reranker {
    const of = (deployment: string): RerankDeployment => new RerankDeployment(deployment, this.host, this.#scope);
    return Object.assign(of, {
      rerank: (...args: Parameters<Reranker['rerank']>) => of('rerank_deployment').rerank(...args),
    });
  }

  deployment(name: string): Deployment {
    return new Deployment(name, this.host, this.#scope);
  }
}

/** The context of a streaming endpoint. */
export class StreamContext<T> extends Context {
  readonly #encode: (value: T) => string;

  /** @param encode checks a value against the output schema and returns its JSON. */
  constructor(host: Host, scope: HandleScope, encode: (value: T) => string) {
    super(host, scope);
    this.#encode = encode;
  }

  /** Sends one value. It may return before the client has received it. Throws `cancelled` when the client has gone. */
  write(value: T): void {
    const chunk = this.#encode(value);
    hostCall(() => this.host.output.write(chunk));
  }

  /** Sends all remaining values of a stream as they arrive, and frees the stream. */
  forward(stream: Stream<T>): void {
    stream.forwardTo(this.host);
  }
}

export function createLog(host: Host): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void =>
      host.log.log(level, message, fields === undefined ? '' : JSON.stringify(fields));
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function mediaSource(input: VideoInput | ImageInput): Source {
  const source: { -readonly [K in keyof Source]: Source[K] } = {};
  if (input.path != null) source.path = input.path;
  if (input.url != null) source.url = input.url;
  if (input.content != null) source.content = input.content;
  if (input.media_id != null) source.mediaId = input.media_id;
  return source;
}
