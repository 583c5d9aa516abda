import { check } from '../class/check.ts';
import { receivedError } from './sent-error.ts';
import { HostReport } from './table.ts';

/** What a controller does with the reports of other hosts. */
export interface ReportedSet {
  setWaitingElsewhere(count: number): void;
  recordElsewhere(token: string, succeeded: number, errors: readonly unknown[]): void;
}

/**
 * Sets what is called when the other end of a connection is silent, and when it is heard again. Returns what ends that.
 */
export type OnSilence = (listener: (isSilent: boolean) => void) => () => void;

/** The other hosts of a controller: how many of their calls wait, and what they see of replicas. */
export class OtherHosts {
  /** Waiting calls of each host, by deployment. */
  readonly #waiting = new Set<Map<string, number>>();
  readonly #find: (deployment: string) => ReportedSet | undefined;

  /** `find` returns the replicas of a deployment; undefined if it has none now. */
  constructor(find: (deployment: string) => ReportedSet | undefined) {
    this.#find = find;
  }

  /**
   * Takes the reports of one host until they end. Its waiting calls do not count while it is silent, because they may
   * never be made. Rejects with `ValidationError` when a report is wrong.
   */
  async take(reports: AsyncIterable<unknown>, onSilence: OnSilence = () => () => {}): Promise<void> {
    const waiting = new Map<string, number>();
    const count = (does: boolean): void => {
      if (does) this.#waiting.add(waiting);
      else this.#waiting.delete(waiting);
      for (const deployment of waiting.keys()) this.#tell(deployment);
    };
    count(true);
    const stop = onSilence((isSilent) => count(!isSilent));
    try {
      for await (const given of reports) this.#take(check(HostReport, given, 'report of a host'), waiting);
    } finally {
      stop();
      count(false);
    }
  }

  /** Returns the number of calls of a deployment that wait in all other hosts. */
  waitingFor(deployment: string): number {
    let sum = 0;
    for (const waiting of this.#waiting) sum += waiting.get(deployment) ?? 0;
    return sum;
  }

  #take({ waiting: told, outcomes }: HostReport, waiting: Map<string, number>): void {
    for (const { deployment, count } of told) {
      waiting.set(deployment, count);
      this.#tell(deployment);
    }
    for (const { deployment, replica, succeeded, errors } of outcomes) {
      const failures = errors.map(receivedError);
      this.#find(deployment)?.recordElsewhere(replica, succeeded, failures);
    }
  }

  #tell(deployment: string): void {
    this.#find(deployment)?.setWaitingElsewhere(this.waitingFor(deployment));
  }
}
