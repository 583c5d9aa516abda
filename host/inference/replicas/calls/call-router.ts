import type { Clock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../../../base/core/telemetry.ts';
import { type CallBounds, ReplicaPool } from '../pool/replica-pool.ts';
import type { CalledReplica } from '../process/running-replica.ts';
import { CallTelemetry } from './call-telemetry.ts';
import { ReplicaCalls, type ReplicaCallsOptions } from './replica-calls.ts';
import { SuspectCalls } from './suspect-calls.ts';

export interface CallRouterOptions<Replica extends CalledReplica> extends Pick<
  ReplicaCallsOptions<Replica>,
  'weightOf' | 'record' | 'loading' | 'onWaiting'
> {
  readonly deployment: string;
  readonly bounds: CallBounds;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  /** Records calls. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Returns why a call that finds no replica may not wait for one; undefined when it may. */
  unavailable(): AanaError | undefined;
  /** Called when a call begins or ends its wait. */
  readonly onQueue?: (() => void) | undefined;
  /** Called with the error with which all waiting calls are refused. */
  readonly onRefused?: ((error: AanaError) => void) | undefined;
}

/**
 * What a host needs to call the replicas of one deployment, whether it has started them or another process has: the
 * pool of replicas with the queue, the calls, and those that are suspected of ending replicas.
 */
export class CallRouter<Replica extends CalledReplica> {
  readonly pool: ReplicaPool<Replica>;
  readonly suspects: SuspectCalls;
  readonly calls: ReplicaCalls<Replica>;

  constructor(options: CallRouterOptions<Replica>) {
    const { deployment, bounds, clock, random, log, telemetry = noTelemetry } = options;
    const { unavailable, onQueue, onRefused, weightOf, record, loading, onWaiting } = options;
    this.pool = new ReplicaPool({
      ...{ deployment, random, clock, onQueue, onRefused, unavailable },
      ...bounds,
    });
    this.suspects = new SuspectCalls(deployment, clock);
    this.calls = new ReplicaCalls({
      ...{ pool: this.pool, clock, log, weightOf, record, loading, onWaiting },
      suspects: this.suspects,
      telemetry: new CallTelemetry(deployment, clock, telemetry, log),
    });
  }
}
