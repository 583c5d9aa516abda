import type { Config } from '../base/config/index.ts';
import { fail } from '../base/core/errors.ts';
import type { Logger } from '../base/core/log/logger.ts';
import type { Telemetry } from '../base/core/telemetry.ts';
import type { DeploymentDefinition } from '../inference/deployments/index.ts';
import type { OpenApiParams } from '../apis/openapi/index.ts';
import type { ProgressStream } from '../setup/packages/index.ts';
import type { MigrationSource } from '../data/storage/index.ts';

export interface AanaAppOptions {
  /** Title of the API documentation. Default: the configuration's `name`. */
  readonly name?: string | undefined;
  /** Creates tables that the application manages itself. Called by `migrate`. */
  readonly migration_func?: ((config: Config) => void | Promise<void>) | undefined;
  /**
   * Folders with numbered migrations of the application's tables, each with its own scope. They are applied together
   * with the migrations of the host.
   */
  readonly migrations?: readonly MigrationSource[] | undefined;
  /**
   * Errors after which a task gets another attempt, as classes or names. Default: those of the original SDK. Errors of
   * unavailability, such as a full queue or a lost replica, are always retried.
   */
  readonly retryable_exceptions?: readonly (string | (abstract new (...args: never[]) => Error))[] | undefined;
  /** General fields of the OpenAPI document: `version`, `description`, `servers`, `tags` … */
  readonly openapi_params?: OpenApiParams | undefined;
  /**
   * Configuration. Default: the result of `loadConfig()`. Its `deployments` and `plugins` are registered only by
   * `aana-host serve`.
   */
  readonly config?: Config | undefined;
  /** Logger. Default: lines on the standard error, as configured. */
  readonly log?: Logger | undefined;
  /** Further types of deployments besides the built-in ones. */
  readonly definitions?: readonly DeploymentDefinition[] | undefined;
  /** Records counters, durations and spans. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Shows the progress of the start and the report of a failed start. Default: the standard error. */
  readonly progress?: ProgressStream | undefined;
}

export interface ConnectOptions {
  /**
   * Address of a running application of this user, or the address to listen on if there is none: an address, or
   * `unix:/path` of a socket. Default: the configuration's `host` if a `port` is given, else its `listen` or its
   * `host`.
   */
  readonly host?: string | undefined;
  /** Port; 0 listens on a free one. Default: the configuration's port, if a `host` is given. */
  readonly port?: number | undefined;
  /**
   * When it listens: `false` hides log lines below `error` on the standard error, but does not affect a custom `log`.
   * Default: true. When it attaches: `true` copies the log lines of the other process to the standard error. Default:
   * false.
   */
  readonly show_logs?: boolean | undefined;
}

/** Returns the address from the options and the configuration. */
export function addressToListenOn(
  { host, port }: ConnectOptions,
  config: Pick<Config, 'host' | 'port' | 'listen'>,
): { readonly host: string; readonly port: number } {
  const socket = host === undefined && port === undefined ? config.listen : null;
  return { host: socket ?? host ?? config.host, port: port ?? config.port };
}

export interface DeployOptions {
  /** Whether to wait until the application has shut down, for example by SIGINT or SIGTERM. Default: false. */
  readonly blocking?: boolean | undefined;
  /** Whether deployments start one after the other, in the order of registration. Default: false. */
  readonly sequential?: boolean | undefined;
}

const OPTIONS: readonly string[] = [
  'name',
  'migration_func',
  'migrations',
  'retryable_exceptions',
  'openapi_params',
  'config',
  'log',
  'definitions',
  'telemetry',
  'progress',
] satisfies (keyof AanaAppOptions)[];

/** Throws `ValidationError` for an unknown option, because JavaScript would ignore it. */
export function checkOptions(options: AanaAppOptions): void {
  const unknown = Object.keys(options).filter((key) => !OPTIONS.includes(key));
  if (unknown.length > 0)
    throw fail('ValidationError', `AanaApp: unknown option ${unknown.join(', ')}; options are: ${OPTIONS.join(', ')}`);
}

export function retryableNames({ retryable_exceptions: exceptions }: AanaAppOptions): readonly string[] | undefined {
  return exceptions?.map((exception) => (typeof exception === 'string' ? exception : exception.name));
}
