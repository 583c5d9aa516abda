import { raceAbort } from '../../../../base/core/abort.ts';
import { AanaError, cancelledError, fail } from '../../../../base/core/errors.ts';
import { KeptPlaces } from '../../../../base/core/kept-places.ts';
import type { RequestContext } from '../../../../base/core/request-context.ts';
import type { Granted } from '../../rights/grants.ts';
import { noSettings, type SettingValues } from '../../rights/plugin-settings.ts';
import type {
  AnswerPort,
  DeploymentCallOptions,
  DeploymentPort,
  MediaScopePort,
  PluginPorts,
  UploadedFile,
  UserPorts,
} from '../../ports.ts';
import { requireArguments } from '../../invocation/border.ts';
import type { PluginTelemetry } from '../../invocation/plugin-telemetry.ts';
import type { HostCall, HostReply, WitError } from '../../invocation/protocol.ts';
import type { StartedAnswer } from '../../invocation/started-calls.ts';
import { isCapability } from '../catalogue.ts';
import { ClientOutput } from './client-output.ts';
import { HeldChars, heldCharsLimits } from './held-chars.ts';
import { InvocationProgress } from './invocation-progress.ts';
import { withModelArgument } from './model-argument.ts';
import { callHost } from '../index.ts';
import type { RequestUrls } from './request-urls.ts';
import type { CapabilityScope, Resource } from './scope.ts';
import { fromWitError, toWitError } from './wit-error.ts';

export interface InvocationScopeOptions {
  readonly ports: PluginPorts;
  /** The plugin's name. */
  readonly plugin: string;
  /** Facts about the request. Each call of a deployment carries them. */
  readonly context: RequestContext;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** The URLs of the request that the invocation answers. A helper has the URLs of its parent. */
  readonly requestUrls: RequestUrls;
  readonly write: ((chunk: string) => Promise<void>) | undefined;
  /** Takes an answer that is bytes. Default: the endpoint has no such answer. */
  readonly answer?: AnswerPort | undefined;
  /** Called with the progress of the invocation. Default: the progress of deployments is not asked for. */
  readonly onProgress?: ((fraction: number, text: string) => void) | undefined;
  readonly granted: Granted;
  /** Default: the plugin declares no settings. */
  readonly settings?: SettingValues | undefined;
  /** Deployments that the invocation is expected to call. */
  readonly expectedDeployments?: Iterable<string> | undefined;
  /** Runs a helper of the same component. Absent in a helper. */
  readonly startHelper:
    | ((name: string, input: string, signal: AbortSignal, traceparent: string | undefined) => Promise<string>)
    | undefined;
  /** Receives reports about host calls. Default: no reports. */
  readonly telemetry?: PluginTelemetry | undefined;
  /** Called when a call is denied. */
  readonly onDenied?: (() => void) | undefined;
  /** Counts characters that the host holds for all invocations of the plugin. */
  readonly held?: HeldChars | undefined;
}

/** Calls that change nothing outside of the invocation. */
const withoutEffect: ReadonlySet<HostCall['operation']> = new Set(['settings.get', 'crypto.perform']);
const over = { reason: cancelledError('the invocation has ended') };

/**
 * The host's side of one invocation. It owns the resources that the guest holds, applies limits, and turns errors into
 * records. The files beside it answer the calls. Handles are numbers of this scope, so no other invocation can use
 * them. Disposal releases everything.
 */
export class InvocationScope {
  readonly #options: InvocationScopeOptions;
  /** Created by the first call, because most invocations never call the host. */
  #abort: AbortController | undefined;
  readonly #resources = new Map<number, Resource>();
  readonly #helpers = new Set<Promise<string>>();
  #capabilityScope: CapabilityScope | undefined;
  #media: MediaScopePort | undefined;
  readonly #places: KeptPlaces;
  readonly #releases: (() => void)[] = [];
  #lastHandle = 0;
  #hostMs = 0;
  #isTouched = false;
  #ended: { readonly reason: unknown } | undefined;
  #lastError: { readonly record: WitError; readonly thrown: AanaError } | undefined;

  /** Counts characters that the host holds for the guest. */
  readonly held: HeldChars;
  /** The output to the client. */
  readonly output: ClientOutput;
  /** Undefined when nobody asks for the progress. */
  readonly progress: InvocationProgress | undefined;

  constructor(options: InvocationScopeOptions) {
    this.#options = options;
    const { write, answer, granted, onProgress, ports, context, expectedDeployments = [] } = options;
    this.progress = onProgress && new InvocationProgress(onProgress);
    this.#places = new KeptPlaces({
      reserve: (name, by) => ports.deployments.reserve(name, by),
      expected: expectedDeployments,
      context,
    });
    this.held = new HeldChars(heldCharsLimits(granted.limits).invocation, options.held);
    this.output = new ClientOutput({
      write,
      answer,
      limitBytes: granted.limits.outputBytes,
      onChunk: () => (this.#isTouched = true),
      onSpent: (ms) => this.charge(ms),
    });
  }

  /** Milliseconds that the host has computed for the guest: reading arguments, writing answers and log lines. */
  get hostMs(): number {
    return this.#hostMs;
  }

  /** Adds milliseconds to the computing time of the guest. */
  charge(ms: number): void {
    this.#hostMs += ms;
  }

  /** The settings as they were when the invocation came. */
  get settings(): SettingValues {
    return this.#options.settings ?? noSettings;
  }

  /**
   * Whether the guest has called the host for more than settings and cryptography. An invocation that has not can run
   * again without any visible effect.
   */
  get isTouched(): boolean {
    return this.#isTouched;
  }

  /** Deployments that the invocation has called. */
  get calledDeployments(): ReadonlySet<string> {
    return this.#places.called;
  }

  /** Answers a call. `started` is for a call that can be given up alone. */
  async answer(call: HostCall, started?: StartedAnswer): Promise<HostReply> {
    const { telemetry, context } = this.#options;
    const work = telemetry?.call(call.operation, context.traceparent);
    if (!withoutEffect.has(call.operation)) this.#isTouched = true;
    let doing: Promise<unknown> | undefined;
    try {
      const startedAt = performance.now();
      requireArguments(call.operation, call.args, this.#options.granted.limits.outputBytes);
      // Reads the arguments before the first wait.
      const signal = started ? AbortSignal.any([this.signal, started.signal]) : this.signal;
      const kept = started && this.#keptUntilGivenUp(started.signal);
      doing = this.#do(call, work ? work.traceparent : context.traceparent, signal, kept);
      this.charge(performance.now() - startedAt);
      const value = await raceAbort(doing, signal);
      work?.end();
      return { value };
    } catch (thrown) {
      work?.end({ error: thrown });
      const record = toWitError(thrown);
      if (record.kind === 'denied') this.#options.onDenied?.();
      if (thrown instanceof AanaError) this.#lastError = { record, thrown };
      return { error: record };
    } finally {
      // The work may go on after the reply.
      if (started) void (doing ?? Promise.resolve()).then(started.onDone, started.onDone);
    }
  }

  /** Calls `release` when the scope is disposed. */
  onDispose(release: () => void): void {
    this.#releases.push(release);
  }

  /** Ends the host's work for the guest. Pending and later calls fail with `reason`. */
  abort(reason: unknown): void {
    this.#ended ??= { reason };
    this.output.close(reason);
    this.#abort?.abort(reason);
  }

  /** Aborted when the invocation ends. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#ended) this.#abort.abort(this.#ended.reason);
    }
    return this.#abort.signal;
  }

  drop(handle: number): void {
    const resource = this.#resources.get(handle);
    this.#resources.delete(handle);
    if (resource?.kind === 'stream') resource.stream.close();
    if (resource?.kind === 'exchange') resource.exchange.body.close();
    if (resource?.kind === 'helper') resource.helper.cancel();
    if (resource?.kind === 'frames') resource.frames.close();
    if (resource?.kind === 'image' && Symbol.asyncDispose in resource.image)
      void resource.image[Symbol.asyncDispose]().catch(() => {}); // its folder is removed with the scope
  }

  /**
   * Returns the error for a record that the guest ended with. When the guest passes on an error of the host, this is
   * the host's own error with its stack.
   */
  errorOf(record: WitError): AanaError {
    const last = this.#lastError;
    const isLast =
      last &&
      last.record.kind === record.kind &&
      last.record.name === record.name &&
      last.record.message === record.message &&
      last.record.data === record.data;
    return isLast ? last.thrown : fromWitError(record);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= over;
    this.output.close(over.reason);
    for (const release of this.#releases) release();
    this.#places[Symbol.dispose]();
    if (!this.#abort) return; // the guest never called the host
    this.#abort.abort(over.reason);
    for (const handle of this.#resources.keys()) this.drop(handle);
    await Promise.allSettled(this.#helpers); // helpers read files of this invocation
    await this.#media?.[Symbol.asyncDispose]();
  }

  /** Answers a call. `traceparent` is the position of the call in the trace. */
  async #do(
    call: HostCall,
    traceparent: string | undefined,
    signal: AbortSignal,
    kept: ((handle: number) => void) | undefined,
  ): Promise<unknown> {
    signal.throwIfAborted();
    const capability = call.operation.slice(0, call.operation.indexOf('.'));
    if (isCapability(capability) && !this.#options.granted.capabilities.has(capability)) {
      throw fail('CapabilityDenied', `this plugin does not have the capability ${capability}`, {
        data: { capability },
      });
    }
    return callHost(this.#forCalls(traceparent, signal, kept), call);
  }

  /** Returns a function that takes the handles of a started call. They are dropped when the guest gives the call up. */
  #keptUntilGivenUp(givenUp: AbortSignal): (handle: number) => void {
    return (handle) => {
      if (givenUp.aborted) this.drop(handle);
      else givenUp.addEventListener('abort', () => this.drop(handle), { once: true });
    };
  }

  #callOptions(context: RequestContext, signal: AbortSignal): DeploymentCallOptions {
    return {
      ...{ ...context, signal, places: this.#places },
      ...(this.progress && { onProgress: this.#onCallProgress }),
    };
  }

  /** Returns the scope for the capabilities. Calls at the same position in the trace share one object. */
  #forCalls(
    traceparent: string | undefined,
    signal: AbortSignal,
    kept: ((handle: number) => void) | undefined,
  ): CapabilityScope {
    const last = this.#capabilityScope;
    if (last && last.signal === signal && last.context.traceparent === traceparent) return last;
    const { ports, plugin, granted, files, requestUrls, startHelper } = this.#options;
    const { context: given } = this.#options;
    const context = given.traceparent === traceparent ? given : { ...given, traceparent };
    let userPorts: UserPorts | undefined;
    this.#capabilityScope = {
      ...{ plugin, granted, files, requestUrls, context, signal, http: ports.http },
      settings: this.settings,
      get user() {
        return (userPorts ??= ports.as({ userId: context.userId ?? null, traceparent }));
      },
      startHelper: startHelper && ((name, input, ending) => this.#track(startHelper(name, input, ending, traceparent))),
      media: () => this.#openMedia(),
      deployment: (name) => this.#deployment(name),
      callOptions: () => this.#callOptions(context, signal),
      streamOptions: (ending) => this.#callOptions(given, ending),
      held: this.held,
      charge: (ms) => this.charge(ms),
      write: (chunk) => this.output.send(chunk),
      answer: this.output,
      requireRoom: () => this.#requireRoom(),
      keep: (resource) => {
        const handle = this.#keep(resource);
        kept?.(handle);
        return handle;
      },
      get: (handle, kind) => this.#get(handle, kind),
    };
    return this.#capabilityScope;
  }

  readonly #onCallProgress: DeploymentCallOptions['onProgress'] = ({ stage, fraction }) => {
    if (stage === 'running' && fraction !== undefined) this.progress?.onCall(fraction);
  };

  #openMedia(): MediaScopePort {
    this.#places.keep();
    this.#media ??= this.#options.ports.openMediaScope(this.#options.context);
    return this.#media;
  }

  #deployment(name: string): DeploymentPort {
    const refusal = this.#options.granted.refusalOf(name);
    if (refusal !== undefined)
      throw fail('DeploymentDenied', `deployment ${name} cannot be called: ${refusal}`, {
        data: { deployment: name },
      });
    return withModelArgument(this.#options.ports.deployments.handle(name));
  }

  #track(helper: Promise<string>): Promise<string> {
    this.#helpers.add(helper);
    void helper.catch(() => {}).then(() => this.#helpers.delete(helper));
    return helper;
  }

  #requireRoom(): void {
    const limit = this.#options.granted.limits.handles;
    if (this.#resources.size >= limit)
      throw fail(
        'TooManyHandles',
        `an invocation can hold ${limit} videos, audios, images, frames, streams, requests and helpers at a time`,
        { data: { limit } },
      );
  }

  #keep(resource: Resource): number {
    this.#requireRoom();
    const handle = ++this.#lastHandle;
    this.#resources.set(handle, resource);
    return handle;
  }

  #get<K extends Resource['kind']>(handle: number, kind: K): Resource & { kind: K } {
    const resource = this.#resources.get(handle);
    if (resource?.kind !== kind) throw fail('InvalidHandle', `there is no ${kind} with handle ${handle}`);
    return resource as Resource & { kind: K };
  }
}
