import type { Server } from 'node:net';
import type { Address } from '../../apis/control/index.ts';
import type { LoadOptions } from '../../base/config/load.ts';
import type { Config } from '../../base/config/index.ts';
import type { ErrorRecord } from '../../base/core/errors.ts';
import type { RunningWork } from '../start/host-drain.ts';
import type { LogLevels } from '../../base/core/log/log-levels.ts';
import type { LogRecord } from '../../base/core/log/logger.ts';
import type { ReloadOutcome } from '../../endpoints/plugins/set/plugin-state.ts';
import type { Format } from '../../base/telemetry/index.ts';

/** What a worker begins with. */
export interface WorkerStart {
  /** From 1. The controller is 0. */
  readonly worker: number;
  /** The configuration of the application now, which may differ from its file. */
  readonly config: Config;
  /** What `loadConfig()` in the module of the application begins with. */
  readonly loadDefaults: LoadOptions;
  /** Folders of plugins besides those of the configuration. */
  readonly folders: readonly string[];
  /** The control socket of the controller. */
  readonly control: Address;
}

/** What a controller asks of a worker, with its answer. */
export interface Questions {
  /** The metrics of the worker as text. Undefined without metrics. */
  readonly metrics: { readonly given: { readonly format: Format }; readonly answer: string | undefined };
  /** What runs in the worker. */
  readonly running: { readonly given: object; readonly answer: RunningWork };
  /** Loads the newest version of one plugin, or of all. */
  readonly reload: {
    readonly given: { readonly name?: string | undefined };
    readonly answer: readonly ReloadOutcome[];
  };
}
export type Question = keyof Questions;

/** Settings that may change while the application serves. */
export interface LiveSettings {
  readonly config: Config;
  readonly levels: ReturnType<LogLevels['list']>;
  readonly isDraining: boolean;
}

export type ToWorker =
  | ({ readonly type: 'start' } & WorkerStart)
  | ({ readonly type: 'settings' } & LiveSettings)
  /** Comes with the listening server. */
  | { readonly type: 'listen' }
  | { readonly type: 'notified'; readonly message: string }
  | { readonly type: 'ask'; readonly id: number; readonly question: Question; readonly given: unknown }
  | { readonly type: 'stop'; readonly graceMs: number };

export type ToController =
  /** It can serve, or could not start. */
  | { readonly type: 'started'; readonly error?: ErrorRecord }
  | { readonly type: 'notified'; readonly message: string }
  | { readonly type: 'logged'; readonly records: readonly LogRecord[] }
  | { readonly type: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: ErrorRecord };

/** What a worker does for its controller. */
export interface WorkerPart {
  apply(settings: LiveSettings): void;
  notified(message: string): void;
  listen(server: Server): Promise<void>;
  readonly answers: {
    readonly [Q in Question]: (given: Questions[Q]['given']) => Promise<Questions[Q]['answer']>;
  };
  stop(graceMs: number): void;
}

/** The place of this process in the application, if it is a worker. */
export interface WorkerRole extends Pick<WorkerStart, 'worker' | 'config' | 'control'> {
  tell(message: ToController): void;
  /** Ends this process, which can call no deployments any more. The controller starts another one. */
  lost(): void;
  /** Set by the application of this process. */
  part: WorkerPart | undefined;
}

/** A global symbol, because the module of an application may import another copy of this package. */
const KEY = Symbol.for('aana-host.worker');
const FOLDERS = Symbol.for('aana-host.controller');
type Holder = { [KEY]?: WorkerRole; [FOLDERS]?: readonly string[] };

/** Makes this process a worker, before its application is created. */
export function setWorkerRole(role: WorkerRole): void {
  (globalThis as Holder)[KEY] = role;
}

/** Returns the role of this process if it is a worker. */
export function workerRole(): WorkerRole | undefined {
  return (globalThis as Holder)[KEY];
}

/**
 * Makes this process one that starts the workers of its configuration, before its application is created.
 * @param folders folders of plugins besides those of the configuration
 */
export function setController(folders: readonly string[]): void {
  (globalThis as Holder)[FOLDERS] = folders;
}

/** Returns the folders of {@link setController}. Undefined in a process that starts no workers. */
export function controllerFolders(): readonly string[] | undefined {
  return (globalThis as Holder)[FOLDERS];
}
