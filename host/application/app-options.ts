import type { Config } from '../config/index.ts';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Telemetry } from '../core/telemetry.ts';
import type { DeploymentDefinition } from '../deployments/index.ts';
import type { OpenApiParams } from '../openapi/index.ts';
import type { ProgressStream } from '../packages/index.ts';
import type { MigrationSource } from '../storage/index.ts';

export interface AanaAppOptions {
  /** Title of the API documentation. Default: the configuration's `name`. */
  readonly name?: string | undefined;
  /** Makes the tables that the application keeps for itself; `migrate` runs it. */
  readonly migration_func?: ((config: Config) => void | Promise<void>) | undefined;
  /**
   * Folders with numbered migrations of the application's own tables, each under a scope of its own; applied with those
   * of the host.
   */
  readonly migrations?: readonly MigrationSource[] | undefined;
  /**
   * Errors after which a task has another attempt, as classes or as their names. Default: those of the original. What
   * was not available (a full queue, a lost replica) is repeated in any case.
   */
  readonly retryable_exceptions?: readonly (string | (abstract new (...args: never[]) => Error))[] | undefined;
  /** Put over what the OpenAPI document says in general: `version`, `description`, `servers`, `tags` … */
  readonly openapi_params?: OpenApiParams | undefined;
  /**
   * Default: what `loadConfig()` finds. Its `deployments` and `plugins` are registered by `aana-host serve`, not here.
   */
  readonly config?: Config | undefined;
  /** Default: lines on the standard error, as the configuration says. */
  readonly log?: Logger | undefined;
  /** Kinds of deployments besides those of the package. */
  readonly definitions?: readonly DeploymentDefinition[] | undefined;
  /** Where counters, durations and spans are reported. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
  /** Where the progress of the start, and a failed start's report, are shown. Default: the standard error. */
  readonly progress?: ProgressStream | undefined;
}

export interface ConnectOptions {
  /**
   * Where an application of this user listens, or where to listen when there is none: an address, or `unix:/path` of a
   * socket. Default: the configuration's `host` when there is a `port`, else its `listen` or its `host`.
   */
  readonly host?: string | undefined;
  /** Default: the configuration's, when there is a `host`; 0 listens on a free one. */
  readonly port?: number | undefined;
  /**
   * When it listens: `false` keeps log lines below `error` off the standard error; a `log` of one's own is left as it
   * is. Default: true. When it attaches: `true` copies the lines of the application in the other process there.
   * Default: false.
   */
  readonly show_logs?: boolean | undefined;
}

/** The address that options and a configuration say together. */
export function addressToListenOn(
  { host, port }: ConnectOptions,
  config: Pick<Config, 'host' | 'port' | 'listen'>,
): { readonly host: string; readonly port: number } {
  const socket = host === undefined && port === undefined ? config.listen : null;
  return { host: socket ?? host ?? config.host, port: port ?? config.port };
}

export interface DeployOptions {
  /** Whether to wait until the application has shut down, by SIGINT or SIGTERM too. Default: false. */
  readonly blocking?: boolean | undefined;
  /** One deployment after the other, in the order of registration. Default: false. */
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

/** In JavaScript a misspelt option would be ignored. */
export function checkOptions(options: AanaAppOptions): void {
  const unknown = Object.keys(options).filter((key) => !OPTIONS.includes(key));
  if (unknown.length > 0)
    throw new AanaError(
      'ValidationError',
      'invalid-input',
      `AanaApp: there is no option ${unknown.join(', ')}; options are: ${OPTIONS.join(', ')}`,
    );
}

export function retryableNames({ retryable_exceptions: exceptions }: AanaAppOptions): readonly string[] | undefined {
  return exceptions?.map((exception) => (typeof exception === 'string' ? exception : exception.name));
}
