/** `aana-host/plugin/testing`: runs endpoints in plain Node, with fakes for what the host gives. */
import { type ErrorRecord, HostError, toErrorRecord } from './host-error.ts';
import type { Host, HostAudio, HostChunks, HostVideo, HostVideoSource, LogLevel } from './host.ts';
import type { Plugin } from './plugin.ts';

/** A deployment's methods: they get the arguments as they arrive in a deployment, `{ $audio: n }` replaced by the fake audio. */
export type FakeDeployment = Readonly<Record<string, (args: never) => unknown>>;

export interface FakeAudio {
  readonly duration: number;
  readonly channels: 'mix' | 'separate';
}

export interface FakeVideo {
  readonly duration?: number;
  readonly hasAudio?: boolean;
  readonly hasVideo?: boolean;
}

export interface FakeHost {
  readonly deployments?: Readonly<Record<string, FakeDeployment>>;
  /** Gives the video for a source, or throws a `HostError`. Default: a video of 10 seconds with audio. */
  readonly video?: (source: HostVideoSource) => FakeVideo;
  /** Called with each streamed value; throw to act as a client that has gone. */
  readonly onWrite?: (value: unknown) => void;
  readonly isCancelled?: () => boolean;
  readonly remainingMs?: () => number;
}

export interface RunResult {
  /** What `run` returned; `null` for a streaming endpoint. */
  readonly output: unknown;
  /** What was streamed. */
  readonly written: readonly unknown[];
  readonly logs: readonly { readonly level: LogLevel; readonly message: string; readonly fields: unknown }[];
  /** Calls of deployments in order. */
  readonly calls: readonly { readonly deployment: string; readonly method: string; readonly args: unknown }[];
}

/** Runs one endpoint. What it fails with is thrown as a `HostError`, as the host sees it. Fails too if a handle stays open. */
export function runEndpoint(plugin: Plugin, name: string, input: unknown, fakes: FakeHost = {}): RunResult {
  const endpoint = plugin.endpoints.find((one) => one.info.name === name);
  if (!endpoint) throw new Error(`the plugin has no endpoint "${name}"`);
  const run = new FakeRun(fakes);
  let output: unknown;
  try {
    output = JSON.parse(endpoint.run(run.host, JSON.stringify(input)));
  } catch (thrown) {
    run.assertClosed();
    const { name: error, kind, message, data } = thrown as ErrorRecord;
    throw new HostError(error, kind, message, { data: JSON.parse(data) });
  }
  run.assertClosed();
  return { output, written: run.written, logs: run.logs, calls: run.calls };
}

class FakeRun {
  readonly written: unknown[] = [];
  readonly logs: { level: LogLevel; message: string; fields: unknown }[] = [];
  readonly calls: { deployment: string; method: string; args: unknown }[] = [];
  readonly #fakes: FakeHost;
  readonly #open = new Set<object>();
  readonly #audio = new Map<HostAudio, FakeAudio>();

  constructor(fakes: FakeHost) {
    this.#fakes = fakes;
  }

  readonly host: Host = {
    log: (level, message, fields) => void this.logs.push({ level, message, fields: fields === '' ? undefined : JSON.parse(fields) }),
    randomBytes: (length) => Uint8Array.from({ length }, (_, at) => (at * 151 + 17) % 256),
    requestId: () => 'test-request',
    remainingMs: () => this.#fakes.remainingMs?.() ?? 60_000,
    isCancelled: () => this.#fakes.isCancelled?.() ?? false,
    openVideo: (source) => atBorder(() => this.#openVideo(source)),
    call: (deployment, method, args, audio) => atBorder(() => JSON.stringify(this.#invoke(deployment, method, args, audio))),
    open: (deployment, method, args, audio) => atBorder(() => this.#openChunks(this.#invoke(deployment, method, args, audio) as Iterable<unknown>)),
    write: (chunk) => atBorder(() => this.#write(chunk)),
    forward: (source) =>
      atBorder(() => {
        for (let values = source.next(); values.length > 0; values = source.next()) values.forEach((value) => this.#write(value));
      }),
  };

  assertClosed(): void {
    if (this.#open.size > 0) throw new Error(`${this.#open.size} handles are still open after the run`);
  }

  #write(chunk: string): void {
    const value: unknown = JSON.parse(chunk);
    this.#fakes.onWrite?.(value);
    this.written.push(value);
  }

  #openVideo(source: HostVideoSource): HostVideo {
    const { duration = 10, hasAudio = true, hasVideo = true } = this.#fakes.video?.(source) ?? {};
    return this.#handle({
      info: () => ({ duration, hasAudio, hasVideo }),
      extractAudio: (channels: 'mix' | 'separate') => {
        const audio = this.#handle({ duration: () => (hasAudio ? duration : 0) });
        this.#audio.set(audio, { duration: audio.duration(), channels });
        return audio;
      },
    });
  }

  #openChunks(values: Iterable<unknown>): HostChunks {
    const iterator = values[Symbol.iterator]();
    return this.#handle(
      {
        next: () =>
          atBorder(() => {
            const { value, done } = iterator.next();
            return done ? [] : [JSON.stringify(value)];
          }),
      },
      () => iterator.return?.(),
    );
  }

  #invoke(deployment: string, method: string, args: string, audio: readonly HostAudio[]): unknown {
    const known = this.#fakes.deployments ?? {};
    const target = known[deployment];
    if (!target) throw new HostError('NotFoundError', 'not-found', `no deployment "${deployment}"; there are ${Object.keys(known).join(', ')}`);
    const call = target[method];
    if (!call) throw new HostError('NotFoundError', 'not-found', `the deployment "${deployment}" has no method "${method}"`);
    const decoded: unknown = JSON.parse(args, (_key, value: unknown) => {
      if (typeof value !== 'object' || value === null || !('$audio' in value)) return value;
      const handle = audio[Number(value.$audio)];
      if (!handle || !this.#open.has(handle)) throw new Error('the audio of a call is not open');
      return this.#audio.get(handle);
    });
    this.calls.push({ deployment, method, args: decoded });
    return call.call(target, decoded as never);
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

/** Errors cross the border as records. */
function atBorder<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw toErrorRecord(thrown);
  }
}
