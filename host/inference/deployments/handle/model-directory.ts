import type { CallOptions } from './deployment-handle.ts';

/** A deployment as those see it who look for a model. */
export interface ServedModel {
  /** Name of the deployment. */
  readonly name: string;
  /** Id of its model: of the catalogue, of the hub, or the name of a file. Undefined if the deployment names none. */
  readonly modelId: string | undefined;
  /** Names of the methods that the deployment has. */
  readonly methods: ReadonlySet<string>;
  /** Whether calls for embeddings may say what the texts are for. */
  readonly takesInputTypes: boolean;
  /** LoRA adapters that requests can name. */
  readonly adapters: readonly string[];
  /** Whether dialogs can have images. */
  readonly takesImages: boolean;
  /** Whether it gets the texts in them, which another deployment reads, and not the images. Default: no. */
  readonly takesTextsOfImages?: boolean;
  /** Whether dialogs can have audio, which the model itself hears. Known when its files are there. */
  readonly takesAudio: boolean;
  /** Most tokens of an answer as the operator has set it; undefined if it is not set. */
  readonly maxTokens: number | undefined;
  /** State of the deployment, such as `RUNNING`. */
  readonly state: string;
}

/** A further name of models of which one answers a request. Its names of models may have an adapter. */
export interface ModelAlias {
  /** The models of which one is chosen, with the parts of the conversations that they get. */
  readonly deployments: readonly { readonly name: string; readonly weight: number }[];
  /** Models that answer in turn when the chosen one does not. */
  readonly fallbacks: readonly string[];
  /** Seconds until a model must begin to answer; null is no limit. */
  readonly fallback_after_s: number | null;
}

/** A model that did not answer a request, after which another one gets it. */
export interface Fallback {
  /** The name in the request. */
  readonly alias: string;
  readonly from: string;
  readonly to: string;
  readonly error: unknown;
  readonly requestId: string | undefined;
}

/** Models that the first request for them starts. */
export interface OnDemandModels {
  /** The names of those that are known before somebody asks for them. */
  names(): readonly string[];
  /** Returns the model of a name as it will be, if it can have these methods. Undefined if none has the name. */
  find(name: string, methods: readonly string[]): ServedModel | undefined;
}

/** The models of an application, and their calls. */
export interface ModelDirectory {
  /** Returns the deployments in the order of registration. */
  list(): readonly ServedModel[];
  /** Further names of models. A text is another name, which may have an adapter. */
  readonly aliases: Readonly<Record<string, string | ModelAlias>>;
  /** Models that are not in the list until a call names them. Undefined if there are none. */
  readonly onDemand?: OnDemandModels | undefined;
  /** Called when another model gets a request. */
  onFallback?(fallback: Fallback): void;
  /** Runs a method of a deployment and returns its result. */
  call(deployment: string, method: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown>;
  /** Runs a streaming method. Each element has all values since the one before; the iterable returns the last value. */
  stream(
    deployment: string,
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): AsyncIterable<unknown[], unknown>;
}

/** Returns the part of a directory that has the deployments of these names; null keeps all. */
export function onlyModels(directory: ModelDirectory, names: ReadonlySet<string> | null): ModelDirectory {
  if (names === null) return directory;
  const { onDemand } = directory;
  return {
    ...directory,
    list: () => directory.list().filter(({ name }) => names.has(name)),
    onDemand: onDemand && {
      names: () => onDemand.names().filter((name) => names.has(name)),
      find: (name, methods) => {
        const found = onDemand.find(name, methods);
        return found && names.has(found.name) ? found : undefined;
      },
    },
  };
}
