import { resolve } from 'node:path';
import { trackRequests } from '../../../base/core/async/request-scope.ts';
import type { ApplicationReport, DeploymentMethods, LogRecord } from '../../http/index.ts';
import { type ControlConnection, type HeldAudio, type OperatorClient, readLogs } from '../index.ts';
import {
  type AnyDeployment,
  type DeploymentHandle,
  type DescribedHandle,
  type HandleOf,
  type HandleOptionsInput,
  type HasMethods,
  type RoutedDeployments,
  withMethods,
} from '../../../inference/deployments/index.ts';
import { DecodedAudio } from '../../../io/media/index.ts';

/** Source of audio: a file of this machine, by a path that may be relative, or a URL. */
export type AudioSource = { readonly path: string } | { readonly url: string };

export interface LogOptions {
  /** Number of latest events. Default: 100. */
  readonly lines?: number | undefined;
  /** Whether new events follow until the application ends. Default: false. */
  readonly follow?: boolean | undefined;
  /** Selects the events of this deployment. */
  readonly deployment?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * An application that runs in another process of this user. Its functions work without it: `const { handle } = await
 * connect()`.
 */
export interface RunningApplication extends AsyncDisposable {
  /** Address of its server. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the connection has ended, by `close` or because the application has ended. */
  readonly closed: Promise<void>;
  /**
   * Returns an object with a function for each method of the deployment. The class may be given as a type. Throws
   * `DeploymentNotFound`, which names all deployments.
   */
  readonly handle: <D extends HasMethods = AnyDeployment>(
    name: string,
    options?: HandleOptionsInput,
  ) => Promise<HandleOf<D>>;
  /** Like `handle`, for a deployment of the list that `deployments()` returns. */
  readonly handleOf: <D extends HasMethods = AnyDeployment>(
    deployment: DeploymentMethods,
    options?: HandleOptionsInput,
  ) => HandleOf<D>;
  /** Returns the deployments with their methods, descriptions and JSON Schemas. */
  readonly deployments: () => Promise<DeploymentMethods[]>;
  readonly status: () => Promise<ApplicationReport>;
  /** Sets the number of replicas of a deployment. */
  readonly scaleDeployment: (name: string, replicas: number) => Promise<void>;
  /**
   * Lets the application decode the audio of a file that it can read, for `transcribe`. The audio is kept until it is
   * disposed or this process ends.
   */
  readonly openAudio: (
    source: AudioSource,
    options?: { readonly channels?: 'mix' | 'separate'; readonly signal?: AbortSignal },
  ) => Promise<HeldAudio>;
  readonly logs: (options?: LogOptions) => AsyncGenerator<LogRecord, void, undefined>;
  /**
   * Shuts the application down: it refuses new requests and finishes running ones for at most `graceMs` (default: its
   * configured time). Resolves when it has ended.
   */
  readonly shutdown: (options?: { readonly graceMs?: number | undefined }) => Promise<void>;
  /** Disconnects. Calls of this process are cancelled, and the application keeps running. May be called twice. */
  readonly close: () => Promise<void>;
}

export function runningApplication(
  connection: ControlConnection,
  operator: OperatorClient,
  routed: RoutedDeployments,
): RunningApplication {
  const { address, closed } = connection;
  trackRequests();
  const close = (): Promise<void> => {
    operator.close();
    return connection.close();
  };
  const handleOf = <D extends HasMethods>(
    { name, methods }: DeploymentMethods,
    options: HandleOptionsInput = {},
  ): HandleOf<D> =>
    withMethods(
      holding(connection, routed.handle(name, methods, options)),
      methods,
      () => methods,
    ) as DescribedHandle as HandleOf<D>;
  return {
    url: address.url,
    pid: connection.pid,
    closed,
    handle: async (name, options = {}) => {
      const { deployments } = await operator.ask('get /api/deployments', { query: { deployment: name } });
      return handleOf(deployments[0] as DeploymentMethods, options);
    },
    handleOf,
    deployments: async () => (await operator.ask('get /api/deployments', {})).deployments,
    status: async () => (await operator.ask('get /api/application', {})).application,
    scaleDeployment: async (deployment, replicas) => {
      await operator.ask('put /api/deployments/{deployment}/replicas', { params: { deployment }, body: { replicas } });
    },
    openAudio: async (source, { channels = 'mix', signal } = {}) => {
      const absolute = 'path' in source ? { path: resolve(source.path) } : source;
      const { id, duration, reference } = await connection.call(
        'audio.open',
        { source: absolute, channels },
        { signal },
      );
      let closing: Promise<unknown> | undefined;
      return new DecodedAudio(reference, duration, async () => {
        closing ??= connection.call('audio.close', { id }).catch(() => {}); // the end of the connection also removes it
        await closing;
      });
    },
    logs: ({ signal, follow = false, lines = 100, deployment } = {}) =>
      readLogs(operator, { lines, deployment, follow }, signal),
    shutdown: async ({ graceMs } = {}) => {
      await operator.ask('post /api/stop', { query: { grace_s: graceMs === undefined ? undefined : graceMs / 1000 } });
      await connection.waitForEnd();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns a handle whose calls keep the process running until they end. */
function holding(connection: ControlConnection, handle: DescribedHandle): DeploymentHandle {
  return {
    name: handle.name,
    call: async (method, args, options) => {
      const release = connection.hold();
      try {
        return await handle.call(method, args, options);
      } finally {
        release();
      }
    },
    stream: (method, args, options) => held(connection, handle.stream(method, args, options)),
  };
}

async function* held<T, R>(
  connection: ControlConnection,
  values: AsyncIterable<T, R, undefined>,
): AsyncGenerator<T, R, undefined> {
  const release = connection.hold();
  try {
    return yield* values;
  } finally {
    release();
  }
}
