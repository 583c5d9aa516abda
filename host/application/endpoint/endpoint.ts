import type * as z from 'zod';
import type { HeldAudio } from '../../control/index.ts';
import { AanaError } from '../../core/errors.ts';
import type { AnyDeployment, HandleOf, HandleOptionsInput, HasMethods } from '../../deployments/index.ts';
import { type HostEndpointContext, type HostEndpointResult, isAsyncGenerator } from '../../endpoints/index.ts';
import type { MediaSource, OpenAudioOptions } from '../../media/index.ts';

/** What an endpoint uses of the application it is registered with. */
export interface EndpointApplication {
  handle<D extends HasMethods = AnyDeployment>(name: string, options?: HandleOptionsInput): HandleOf<D>;
  handle<D extends HasMethods & { readonly name: string }>(
    type: D,
    name: string,
    options?: HandleOptionsInput,
  ): HandleOf<D>;
  openAudio(source: MediaSource, options?: OpenAudioOptions): Promise<HeldAudio>;
}

let attachTo: (endpoint: Endpoint, application: EndpointApplication) => void;

/**
 * What endpoint classes extend. The application makes one object of the class, calls `initialize` once before the first
 * request, and `run` for each request; requests run side by side, so what belongs to one is no field.
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
  /** An object schema: its keys are the parameters of `run`. */
  abstract readonly input: I;
  /** Schema of what `run` gives, or of one value that it yields. */
  abstract readonly output: O;
  /**
   * Names of the deployments that each run calls. A request is refused before `run` where one of them has no room;
   * otherwise its places are kept for the calls that have the `context` of `run` as their options. Default: none.
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

  /** Runs once, when the deployments run and before the first request. What it throws ends the start. */
  async initialize(): Promise<void> {}

  abstract run(input: z.core.output<I>, context: HostEndpointContext): HostEndpointResult<z.core.output<O>>;

  /** As `AanaApp.handle`, from `initialize` on. */
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

  /** As `AanaApp.openAudio`, from `initialize` on: in `run`, with the `context` as options. */
  protected async openAudio(source: MediaSource, options?: OpenAudioOptions): Promise<HeldAudio> {
    return this.#attached('audio can be opened').openAudio(source, options);
  }

  #attached(what: string): EndpointApplication {
    if (!this.#application)
      throw new AanaError(
        'NotReady',
        'unavailable',
        `${this.constructor.name}: ${what} from initialize() on, not in the constructor`,
      );
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
    throw new AanaError(
      'EndpointError',
      'invalid-input',
      `endpoint ${name}: ${endpointClass.name} must extend Endpoint of aana-host`,
    );
  for (const key of ['input', 'output'] as const) {
    if (!(endpoint[key] as { _zod?: unknown } | undefined)?._zod)
      throw new AanaError(
        'EndpointError',
        'invalid-input',
        `endpoint ${name}: ${endpointClass.name} must have a field ${key}, a schema of zod 4`,
      );
  }
  if (!isListOfNames(endpoint.deployments ?? []))
    throw new AanaError(
      'EndpointError',
      'invalid-input',
      `endpoint ${name}: deployments of ${endpointClass.name} must be a list of names of deployments`,
    );
  if (typeof endpoint.run !== 'function')
    throw new AanaError(
      'EndpointError',
      'invalid-input',
      `endpoint ${name}: ${endpointClass.name} must have a method run`,
    );
  attachTo(endpoint, application);
  return endpoint;
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
}
