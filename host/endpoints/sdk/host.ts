import type { Concurrency } from '../../../wit/generated/world/concurrency.ts';
import type { Deployments } from '../../../wit/generated/world/deployments.ts';
import type { Invocation } from '../../../wit/generated/world/invocation.ts';
import type { Log } from '../../../wit/generated/world/log.ts';
import type { Media } from '../../../wit/generated/world/media.ts';
import type { Output } from '../../../wit/generated/world/output.ts';
import type { Progress } from '../../../wit/generated/world/progress.ts';
import type { Random } from '../../../wit/generated/world/random.ts';
import type { Remote } from '../../../wit/generated/world/remote.ts';
import type { RepositoriesWrite } from '../../../wit/generated/world/repositories-write.ts';
import type { Repositories } from '../../../wit/generated/world/repositories.ts';
import type { Settings } from '../../../wit/generated/world/settings.ts';
import type { Storage } from '../../../wit/generated/world/storage.ts';
import type { Uploads } from '../../../wit/generated/world/uploads.ts';
import type { Vectors } from '../../../wit/generated/world/vectors.ts';

/**
 * The host as the sandbox sees it: the interfaces of the world and the clock. `guest/imports.ts` takes it from the
 * component's imports, `testing/` from fakes.
 */
export interface Host {
  readonly log: Log;
  readonly random: Random;
  readonly invocation: Invocation;
  /** Undefined where calls do not wait. */
  readonly concurrency?: Concurrency | undefined;
  readonly settings: Settings;
  readonly progress: Progress;
  readonly output: Output;
  readonly uploads: Uploads;
  readonly media: Media;
  readonly deployments: Deployments;
  /** Undefined when the plugin does not ask for it; so are the capabilities below. */
  readonly storage?: Storage | undefined;
  readonly vectors?: Vectors | undefined;
  readonly repositories?: Repositories | undefined;
  readonly 'repositories-write'?: RepositoriesWrite | undefined;
  readonly remote?: Remote | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment; never goes back. */
  monotonicNow(): number;
}

export type { Level as LogLevel } from '../../../wit/generated/world/log.ts';
