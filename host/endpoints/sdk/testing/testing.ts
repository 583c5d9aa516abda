/** `aana-host/plugin/testing`: runs endpoints in plain Node, with fakes for the host. */
import { type AnswerRequest, type FakeRequest, withFetch } from './fake-fetch.ts';
import { FakeRepositories, fakeRepositories, fakeRepositoriesWrite } from './fake-repositories.ts';
import { type FakeStorage, fakeStorage } from './fake-storage.ts';
import { type FakeFile, fakeUploads } from './fake-uploads.ts';
import { type FakeVectors, fakeVectors } from './fake-vectors.ts';
import { wellFormed } from '../guest/well-formed.ts';
import type { FrameOptions, VideoFacts } from '../../../base/schemas/index.ts';
import { HostError, toErrorRecord } from '../host-error.ts';
import type { DeploymentOptions } from '../capabilities/deployments.ts';
import type { Chunks, Deployments } from '../../../../wit/generated/world/deployments.ts';
import type { Audio, Frames, Image, Media, Source, Video } from '../../../../wit/generated/world/media.ts';
import type { Remote, Task } from '../../../../wit/generated/world/remote.ts';
import type { Host, LogLevel } from '../host.ts';
import { after, isPromise, type MaybePromise } from '../maybe-promise.ts';
import { forgetLeft, neverSettled, requireNothingLeft } from '../guest/event-loop.ts';
import type { Plugin } from '../plugin.ts';
import { fromBase64, toBase64 } from '../guest/base64.ts';

/**
 * The methods of a deployment. They get the arguments that a deployment gets, with the fake audio and images in place
 * of their handles, and the options of the call.
 */
export type FakeDeployment = Readonly<Record<string, (args: never, options: DeploymentOptions) => unknown>>;

/** A call of a deployment. */
export interface FakeCall extends DeploymentOptions {
  readonly deployment: string;
  readonly method: string;
  readonly args: unknown;
}

export interface FakeAudio {
  readonly duration: number;
  readonly channels: 'mix' | 'separate';
}

export interface FakeVideo {
  readonly duration?: number;
  readonly hasAudio?: boolean;
  readonly hasVideo?: boolean;
  /** From the page of the video. Default: none, as for a file. */
  readonly title?: string;
  readonly description?: string;
  /** What {@link Video.facts} has beside these. */
  readonly facts?: Partial<VideoFacts>;
  /** In SubRip. Default: none. */
  readonly subtitles?: string;
  /** The frames that the options choose. Default: none. */
  readonly frames?: (options: FrameOptions) => Iterable<FakeImage & { readonly time: number }>;
}

export interface FakeImage {
  readonly width?: number;
  readonly height?: number;
  readonly format?: string;
  /** Red, green and blue of each pixel in this size. Default: black. */
  readonly pixels?: (width: number, height: number) => Uint8Array;
  /** The file that {@link Image.encode} returns. Default: empty. */
  readonly file?: Uint8Array;
}

export type { FakeRequest, FakeResponse } from './fake-fetch.ts';
export type { FakeStorage } from './fake-storage.ts';
export { FakeRepositories } from './fake-repositories.ts';
export type { FakeFile } from './fake-uploads.ts';
export type { FakeChunk, FakeCollection, FakeVectors } from './fake-vectors.ts';

export interface FakeHost {
  /** The uploaded files by their fields. Default: none. */
  readonly files?: Readonly<Record<string, FakeFile>>;
  readonly deployments?: Readonly<Record<string, FakeDeployment>>;
  /** Returns the video for a source, or throws a `HostError`. Default: a video of 10 seconds with audio. */
  readonly video?: (source: Source) => FakeVideo;
  /** Returns the image for a source, or throws a `HostError`. Default: a PNG of 640 × 480. */
  readonly image?: (source: Source) => FakeImage;
  /** Returns the image in a file that the plugin has, or throws a `HostError`. Default: a PNG of 640 × 480. */
  readonly decodedImage?: (file: Uint8Array) => FakeImage;
  /** Default: an empty storage for each run. `null`: the plugin does not have the capability. */
  readonly storage?: FakeStorage | null;
  /** Collections of vectors by name. Default: none in each run. `null`: the plugin does not have the capability. */
  readonly vectors?: FakeVectors | null;
  /** Stored media of the application. Default: none in each run. `null`: the plugin does not have the capabilities. */
  readonly repositories?: FakeRepositories | null;
  /**
   * Answers the requests of `fetch`, or throws a `HostError`. Without it the plugin does not have the capability
   * `http`.
   */
  readonly fetch?: AnswerRequest;
  /** Returns milliseconds since the epoch. Default: always the same moment. */
  readonly now?: () => number;
  /** Called with each streamed value. Throw to act as a client that has gone. */
  readonly onWrite?: (value: unknown) => void;
  readonly isCancelled?: () => boolean;
  readonly remainingMs?: () => number;
  /** Values of settings by name. Default: none. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Default: none, as when no API key is required. */
  readonly user?: string;
  /** Default: 0. */
  readonly priority?: number;
  /** Default: none. */
  readonly traceparent?: string;
}

/** An answer that is bytes. */
export interface FakeAnswer {
  readonly mediaType: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

export interface RunResult {
  /** The result of `run`, or `null` for a streaming endpoint and for an answer that is bytes. */
  readonly output: unknown;
  /** The streamed values. */
  readonly written: readonly unknown[];
  /** The answer that is bytes. Undefined for another one. */
  readonly answer: FakeAnswer | undefined;
  readonly logs: readonly { readonly level: LogLevel; readonly message: string; readonly fields: unknown }[];
  readonly progress: readonly { readonly fraction: number; readonly text: string; readonly until?: number }[];
  /** Outbound requests in order. */
  readonly requests: readonly FakeRequest[];
  /** Calls of deployments in order. */
  readonly calls: readonly FakeCall[];
}

/**
 * Runs one endpoint. Rejects with the endpoint's error as a `HostError`, which is what the host sees. Rejects also when
 * a handle stays open.
 */
export async function runEndpoint(
  plugin: Plugin,
  name: string,
  input: unknown,
  fakes: FakeHost = {},
): Promise<RunResult> {
  const endpoint = plugin.endpoints.find((one) => one.info.name === name);
  if (!endpoint) throw new Error(`the plugin has no endpoint "${name}"`);
  const run = new FakeRun(fakes, plugin);
  let output: unknown;
  if (atWork.size === 0) {
    forgetLeft();
    haveFailed = false;
  }
  atWork.add(run);
  try {
    const ran = (): MaybePromise<string> => endpoint.run(run.host, JSON.stringify(input));
    const result = withFetch(fakes.fetch, run.requests, ran);
    output = JSON.parse(isPromise(result) ? await settled(result) : result);
    if (atWork.size === 1 && !haveFailed) requireNothingLeft();
  } catch (thrown) {
    haveFailed = true;
    run.assertClosed();
    const { name: error, kind, message, data } = toErrorRecord(thrown);
    throw new HostError(error, kind, message, { data: JSON.parse(data) });
  } finally {
    atWork.delete(run);
  }
  run.assertClosed();
  return {
    output,
    written: run.written,
    answer: run.answer,
    logs: run.logs,
    progress: run.progress,
    requests: run.requests,
    calls: run.calls,
  };
}

/** Runs at work. What those that overlap have left undone is an error of the last one, unless one has failed. */
const atWork = new Set<FakeRun>();
let haveFailed = false;

/** Node's. It emits `beforeExit` when nothing is left to do that could settle a promise. */
declare const process: Record<'on' | 'off', (event: 'beforeExit', listener: () => void) => unknown>;

/** What ends the runs that wait. Node warns of more than ten listeners, so they share one. */
const waiting = new Set<() => void>();
const endWaiting = (): void => waiting.forEach((end) => end());

/** Returns the outcome of a promise. Rejects when Node has nothing left to do and it is pending. */
async function settled<T>(promise: PromiseLike<T>): Promise<T> {
  let stop = (): void => {};
  const never = new Promise<never>((_, reject) => {
    stop = () => reject(neverSettled());
  });
  if (waiting.size === 0) process.on('beforeExit', endWaiting);
  waiting.add(stop);
  try {
    return await Promise.race([promise, never]);
  } finally {
    waiting.delete(stop);
    if (waiting.size === 0) process.off('beforeExit', endWaiting);
  }
}

class FakeRun {
  readonly written: unknown[] = [];
  readonly logs: { level: LogLevel; message: string; fields: unknown }[] = [];
  readonly calls: FakeCall[] = [];
  readonly progress: { fraction: number; text: string; until?: number }[] = [];
  readonly requests: FakeRequest[] = [];
  answer: FakeAnswer | undefined;
  readonly #fakes: FakeHost;
  readonly #plugin: Plugin;
  readonly #open = new Set<object>();
  readonly #audio = new Map<Audio, FakeAudio>();
  readonly #images = new Map<Image, FakeImage>();

  constructor(fakes: FakeHost, plugin: Plugin) {
    this.#fakes = fakes;
    this.#plugin = plugin;
    this.host = {
      ...this.#always,
      uploads: fakeUploads(fakes.files ?? {}),
      storage: fakes.storage === null ? undefined : fakeStorage(fakes.storage ?? new Map(), this.#always.now),
      vectors: fakes.vectors === null ? undefined : wellFormed(fakeVectors(fakes.vectors ?? new Map())),
      ...fakeRepositoriesOf(fakes),
      remote: this.#remote,
    };
  }

  readonly host: Host;

  readonly #remote: Remote = { Task: { start: (name, input) => atBorder(() => this.#startHelper(name, input)) } };

  readonly #media: Media = {
    Video: { open: (source) => atBorder(() => this.#openVideo(source)) },
    Image: {
      open: (source) => atBorder(() => this.#heldImage(this.#fakes.image?.(source))),
      decode: (file) => atBorder(() => this.#heldImage(this.#fakes.decodedImage?.(file))),
      decodeBase64: (file) => this.#media.Image.decode(fromBase64(file)),
    },
  };

  readonly #deployments: Deployments = {
    call: (...args) => this.#deployments.callWithImages(...args, []),
    open: (...args) => this.#deployments.openWithImages(...args, []),
    callWithImages: (...args) =>
      atBorder(() => after(this.#invoke(...args), (answer) => JSON.stringify(answer)) as string),
    openWithImages: (...args) => atBorder(() => this.#openChunks(this.#invoke(...args) as Iterable<unknown>)),
  };

  readonly #always: Omit<Host, 'uploads'> = {
    log: {
      log: (level, message, fields) =>
        void this.logs.push({ level, message, fields: fields === '' ? undefined : JSON.parse(fields) }),
    },
    random: { bytes: (length) => Uint8Array.from({ length }, (_, at) => (at * 151 + 17) % 256) },
    invocation: {
      requestId: () => 'test-request',
      remainingMs: () => BigInt(Math.round(this.#fakes.remainingMs?.() ?? 60_000)),
      isCancelled: () => this.#fakes.isCancelled?.() ?? false,
      user: () => this.#fakes.user,
      priority: () => this.#fakes.priority ?? 0,
      traceparent: () => this.#fakes.traceparent,
    },
    settings: { get: (name) => JSON.stringify(this.#fakes.settings?.[name]) },
    progress: {
      report: (fraction, text) => void this.progress.push({ fraction, text }),
      reportStep: (fraction, until, text) => void this.progress.push({ fraction, text, until }),
    },
    output: {
      write: (chunk) => atBorder(() => this.#write(chunk)),
      begin: ({ headers, ...head }) =>
        void (this.answer = { ...head, headers: Object.fromEntries(headers), bytes: new Uint8Array() }),
      send: (base64) => {
        const { bytes, ...head } = this.answer!;
        this.answer = { ...head, bytes: Uint8Array.from([...bytes, ...fromBase64(base64)]) };
      },
      forward: (source) =>
        atBorder(() => {
          for (let values = source.next(); values.length > 0; values = source.next())
            values.forEach((value) => this.#write(value));
        }),
    },
    media: this.#media,
    deployments: this.#deployments,
    now: () => this.#fakes.now?.() ?? Date.UTC(2024, 0, 1),
    monotonicNow: () => this.#fakes.now?.() ?? 0,
  };

  assertClosed(): void {
    if (this.#open.size > 0) throw new Error(`${this.#open.size} handles are still open after the run`);
  }

  #write(chunk: string): void {
    const value: unknown = JSON.parse(chunk);
    this.#fakes.onWrite?.(value);
    this.written.push(value);
  }

  #openVideo(source: Source): Video {
    const fake = this.#fakes.video?.(source) ?? {};
    const { duration = 10, hasAudio = true, hasVideo = true, title, description, frames = () => [] } = fake;
    const facts: VideoFacts = {
      ...{ duration, has_audio: hasAudio, has_video: hasVideo, tracks: [], chapters: [] },
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...fake.facts,
    };
    return this.#handle({
      facts: () => JSON.stringify(facts),
      subtitles: () => fake.subtitles ?? '',
      frames: (options: string) => this.#openFrames(atBorder(() => frames(JSON.parse(options) as FrameOptions))),
      info: () => ({ duration, hasAudio, hasVideo }),
      metadata: () => ({ title, description }),
      extractAudio: (channels: 'mix' | 'separate') => {
        const audio = this.#handle({ duration: () => (hasAudio ? duration : 0) });
        this.#audio.set(audio, { duration: audio.duration(), channels });
        return audio;
      },
    });
  }

  #openFrames(frames: Iterable<FakeImage & { readonly time: number }>): Frames {
    const iterator = frames[Symbol.iterator]();
    let current: FakeImage | undefined;
    return this.#handle(
      {
        next: () =>
          atBorder(() => {
            const { value } = iterator.next() as IteratorResult<FakeImage & { readonly time: number }, undefined>;
            current = value;
            return value?.time;
          }),
        image: () => this.#heldImage({ format: 'rawvideo', ...current }),
      },
      () => iterator.return?.(),
    );
  }

  #heldImage(given: FakeImage = {}): Image {
    const { width = 640, height = 480, format = 'png', pixels = black, file = new Uint8Array() } = given;
    const image = this.#handle({
      info: () => ({ width, height, format }),
      pixels: (w: number, h: number) => atBorder(() => pixels(w, h)),
      encode: () => toBase64(file),
      pixelsBase64: (w: number, h: number) => atBorder(() => toBase64(pixels(w, h))),
    });
    this.#images.set(image, { width, height, format });
    return image;
  }

  /** Runs a helper immediately, with the same fakes. Handles that it opens must be closed, too. */
  #startHelper(name: string, input: string): Task {
    const helper = this.#plugin.helpers.find((one) => one.name === name);
    if (!helper)
      throw new HostError(
        'EndpointNotFoundException',
        'not-found',
        `the plugin has no helper "${name}"; name it in definePlugin`,
      );
    let outcome: MaybePromise<string> | { readonly thrown: unknown };
    try {
      outcome = helper.run({ ...this.host, remote: undefined }, input);
    } catch (thrown) {
      outcome = { thrown };
    }
    return this.#handle({
      wait: () => {
        if (typeof outcome === 'object' && 'thrown' in outcome) throw outcome.thrown;
        return outcome as string; // also a promise of it, for which the plugin waits
      },
    });
  }

  #openChunks(values: Iterable<unknown> | AsyncIterable<unknown>): Chunks {
    const iterator: Iterator<unknown, unknown> | AsyncIterator<unknown, unknown> =
      Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]();
    let returned: unknown;
    return this.#handle(
      {
        next: () =>
          atBorder(
            () =>
              after(iterator.next(), ({ value, done }): string[] => {
                if (!done) return [JSON.stringify(value)];
                returned ??= value;
                return [];
              }) as string[], // also a promise of them, for which the plugin waits
          ),
        returned: () => (returned === undefined ? '' : JSON.stringify(returned)),
      },
      () => iterator.return?.(),
    );
  }

  #invoke(
    deployment: string,
    method: string,
    args: string,
    audio: readonly Audio[],
    images: readonly Image[],
  ): unknown {
    const known = this.#fakes.deployments ?? {};
    const target = known[deployment];
    if (!target)
      throw new HostError(
        'DeploymentNotFound',
        'not-found',
        `no deployment "${deployment}"; there are ${Object.keys(known).join(', ')}`,
      );
    const call = target[method];
    if (!call)
      throw new HostError('MethodNotFound', 'not-found', `the deployment "${deployment}" has no method "${method}"`);
    const decoded: unknown = JSON.parse(args, (_key, value: unknown) => {
      if (typeof value !== 'object' || value === null) return value;
      if ('$audio' in value) return this.#audio.get(this.#still(audio[Number(value.$audio)], 'audio'));
      if ('$image' in value) return this.#images.get(this.#still(images[Number(value.$image)], 'image'));
      return value;
    });
    const { $model: multiplexedModelId, ...rest } = decoded as { readonly $model?: string };
    this.calls.push({
      deployment,
      method,
      args: rest,
      ...(multiplexedModelId !== undefined && { multiplexedModelId }),
    });
    return call.call(target, rest as never, { multiplexedModelId });
  }

  /** Returns a handle in a call. Throws when it is not open. */
  #still<T extends object>(handle: T | undefined, what: string): T {
    if (!handle || !this.#open.has(handle)) throw new Error(`the ${what} of a call is not open`);
    return handle;
  }

  #handle<T extends object>(methods: T, onDispose?: () => void): T & Disposable {
    const handle = {
      ...methods,
      [Symbol.dispose]: () => {
        if (!this.#open.delete(handle)) throw new Error('a handle was disposed twice');
        onDispose?.();
      },
    };
    this.#open.add(handle);
    return handle;
  }
}

function fakeRepositoriesOf({
  repositories = new FakeRepositories(),
}: FakeHost): Pick<Host, 'repositories' | 'repositories-write'> {
  return repositories === null
    ? {}
    : { repositories: fakeRepositories(repositories), 'repositories-write': fakeRepositoriesWrite(repositories) };
}

/** Runs a call, whose errors become records, because errors cross the border as records. */
function atBorder<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw toErrorRecord(thrown);
  }
}

function black(width: number, height: number): Uint8Array {
  return new Uint8Array(3 * width * height);
}
