import type * as z from 'zod';
import type { HeldAudio } from '../../apis/control/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { AnyDeployment, HandleOf, HandleOptionsInput, HasMethods } from '../../inference/deployments/index.ts';
import { type HostEndpointContext, type HostEndpointResult, isAsyncGenerator } from '../../endpoints/registry/index.ts';
import type { Helper } from '../../base/modules/index.ts';
import type {
  HeldImage,
  HeldVideo,
  MediaSource,
  OpenAudioOptions,
  OpenImageOptions,
  OpenVideoOptions,
} from '../../io/media/index.ts';

/** The parts of the application that an endpoint uses. */
export interface EndpointApplication {
  handle<D extends HasMethods = AnyDeployment>(name: string, options?: HandleOptionsInput): HandleOf<D>;
  handle<D extends HasMethods & { readonly name: string }>(
    type: D,
    name: string,
    options?: HandleOptionsInput,
  ): HandleOf<D>;
  openAudio(source: MediaSource, options?: OpenAudioOptions): Promise<HeldAudio>;
  openImage(source: MediaSource, options?: OpenImageOptions): Promise<HeldImage>;
  openVideo(source: MediaSource, options?: OpenVideoOptions): Promise<HeldVideo>;
  runRemote<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    helper: Helper<I, O>,
    input: z.core.input<I>,
    options?: RunRemoteOptions,
  ): Promise<z.core.output<O>>;
}

export interface RunRemoteOptions {
  /** Ends the helper. Default: the signal of the request for which the code runs. */
  readonly signal?: AbortSignal | undefined;
}

let attachTo: (endpoint: Endpoint, application: EndpointApplication) => void;

/**
 * Base class of endpoints. The application makes one object of the class, calls `initialize` once before the first
 * request, and `run` for each request. Requests run concurrently, so data of a request must not be stored in fields.
 *
 *     class Double extends Endpoint<typeof Input, typeof Output> {
 *       readonly input = Input;
 *       readonly output = Output;
 *       async run({ n }) { return { n: 2 * n }; }
 *     }
 */
export abstract class Endpoint<
  I extends z.core.$ZodType = z.core.$ZodType,
  O extends z.core.$ZodType = z.core.$ZodType,
> {
  /** Schema of an object with the parameters of `run`. */
  abstract readonly input: I;
  /** Schema of the result of `run`, or of one yielded value. */
  abstract readonly output: O;
  /**
   * Names of the deployments that each run calls. If one of them has no room, a request is refused before `run`.
   * Otherwise places are reserved for its calls. Default: none.
   */
  readonly deployments?: readonly string[];
  #application: EndpointApplication | undefined;

  static {
    attachTo = (endpoint, application) => (endpoint.#application = application);
  }

  /** Whether the answer is a stream. Default: whether `run` is an async generator. */
  get isStreaming(): boolean {
    return isAsyncGenerator(this.run);
  }

  /** Called once, after the deployments have started and before the first request. If it throws, the start fails. */
  async initialize(): Promise<void> {}

  abstract run(input: z.core.output<I>, context: HostEndpointContext): HostEndpointResult<z.core.output<O>>;

  /** Like `AanaApp.handle`. Available from `initialize` on. */
  protected handle<D extends HasMethods = AnyDeployment>(name: string, options?: HandleOptionsInput): HandleOf<D>;
  protected handle<D extends HasMethods & { readonly name: string }>(
    type: D,
    name: string,
    options?: HandleOptionsInput,
  ): HandleOf<D>;
  protected handle(
    first: string | (HasMethods & { readonly name: string }),
    second?: string | HandleOptionsInput,
    third?: HandleOptionsInput,
  ): HandleOf<AnyDeployment> {
    const application = this.#attached('handles can be made');
    if (typeof first === 'string') return application.handle(first, second as HandleOptionsInput | undefined);
    return application.handle(first, second as string, third);
  }

  /** Like `AanaApp.openAudio`. Available from `initialize` on; in `run` pass the `context` as options. */
  protected async openAudio(source: MediaSource, options?: OpenAudioOptions): Promise<HeldAudio> {
    return this.#attached('audio can be opened').openAudio(source, options);
  }

  /** Like `AanaApp.openImage`. Available from `initialize` on; in `run` pass the `context` as options. */
  protected async openImage(source: MediaSource, options?: OpenImageOptions): Promise<HeldImage> {
    return this.#attached('images can be opened').openImage(source, options);
  }

  /** Like `AanaApp.openVideo`. Available from `initialize` on; in `run` pass the `context` as options. */
  protected async openVideo(source: MediaSource, options?: OpenVideoOptions): Promise<HeldVideo> {
    return this.#attached('videos can be opened').openVideo(source, options);
  }

  /** Like `AanaApp.runRemote`. Available from `initialize` on; in `run` pass the `context` as options. */
  protected async runRemote<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    helper: Helper<I, O>,
    input: z.core.input<I>,
    options?: RunRemoteOptions,
  ): Promise<z.core.output<O>> {
    return this.#attached('helpers run').runRemote(helper, input, options);
  }

  #attached(what: string): EndpointApplication {
    if (!this.#application)
      throw fail('NotReady', `${this.constructor.name}: ${what} from initialize() on, not in the constructor`);
    return this.#application;
  }
}

/** Makes the object of an endpoint class. Throws `EndpointError` when the class cannot be an endpoint. */
export function makeEndpoint(
  endpointClass: new () => Endpoint,
  name: string,
  application: EndpointApplication,
): Endpoint {
  const endpoint = new endpointClass();
  if (!(endpoint instanceof Endpoint))
    throw fail('EndpointError', `endpoint ${name}: ${endpointClass.name} must extend Endpoint of aana-host`);
  for (const key of ['input', 'output'] as const) {
    if (!(endpoint[key] as { _zod?: unknown } | undefined)?._zod)
      throw fail(
        'EndpointError',
        `endpoint ${name}: ${endpointClass.name} must have a field ${key} with a zod 4 schema`,
      );
  }
  if (!isListOfNames(endpoint.deployments ?? []))
    throw fail(
      'EndpointError',
      `endpoint ${name}: deployments of ${endpointClass.name} must be a list of deployment names`,
    );
  if (typeof endpoint.run !== 'function')
    throw fail('EndpointError', `endpoint ${name}: ${endpointClass.name} must have a method run`);
  attachTo(endpoint, application);
  return endpoint;
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
}
