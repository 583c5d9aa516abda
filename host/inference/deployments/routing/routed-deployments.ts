import type { Membership } from '../../../base/certificates/index.ts';
import { Coalesced } from '../../../base/core/async/coalesced.ts';
import { backgroundClock, type Clock } from '../../../base/core/clock.ts';
import { type AanaError, fail, faultOf } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Telemetry } from '../../../base/core/telemetry.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import {
  type ConnectReplica,
  connectReplica,
  notListening,
  remoteConnector,
  type Reservation,
  RoutedSet,
  type SharedSet,
} from '../../replicas/index.ts';
import { check } from '../class/check.ts';
import { type CallableDeployment, type CallDefinition, DeploymentCalls } from '../handle/deployment-calls.ts';
import { deploymentNotFound } from '../manager/deployment-not-found.ts';
import type { DeploymentHandle } from '../handle/deployment-handle.ts';
import { HandleOptions, type HandleOptionsInput } from '../handle/handle-options.ts';
import { servedCalls } from '../handle/served-calls.ts';
import { type DescribedHandle, withMethods } from '../handle/typed-handle.ts';
import { definitionFor, type DefinitionOf } from './described-definition.ts';
import type { TableEntry } from './published-table.ts';
import { receivedError, sentError } from './sent-error.ts';
import type { DeploymentFacts, DeploymentRoutes, HostReport, SentError, TableChange } from './table.ts';

export interface RoutedDeploymentsOptions {
  readonly log: Logger;
  /** Returns the definition of a type that this process has; undefined for other types. */
  readonly definitionOf: DefinitionOf;
  /** Folders of the artifacts of this host. Default: there are none. */
  readonly artifactRoots?: readonly string[] | undefined;
  /** As which member of the cluster it calls replicas of another machine. Default: they are on this one. */
  readonly membership?: Membership | undefined;
  /** Whether it is a worker, whose running requests make calls while the application drains. Default: false. */
  readonly isWorker?: boolean | undefined;
  /** Default: no reports. */
  readonly telemetry?: Telemetry | undefined;
  /** Returns the weight of a user among those whose calls wait. Default: all have the same. */
  readonly weightOf?: ((userId: string) => number | undefined) | undefined;
  /** Simulated clock, random numbers and connections. */
  readonly simulated?:
    | { readonly clock: Clock; readonly random: () => number; readonly connect: ConnectReplica }
    | undefined;
}

/** Outcomes of calls on one replica since the last report. */
interface Outcomes {
  readonly deployment: string;
  succeeded: number;
  readonly errors: HostReport['outcomes'][number]['errors'];
}

/** Errors of one replica in a report. Further ones are left out: these suffice to judge it. */
const MAX_ERRORS = 100;
const MAX_SUCCEEDED = 100_000;
/** Milliseconds for which outcomes are kept for one report. */
const OUTCOMES_MS = 100;

/** A deployment of the table. */
class RoutedDeployment implements CallableDeployment {
  readonly name: string;
  readonly set: RoutedSet;
  readonly isDescribed: boolean;
  refusal: AanaError | undefined;
  state: DeploymentRoutes['state'];
  readonly #own: CallDefinition | undefined;
  #facts: DeploymentFacts;
  #bound: CallableDeployment['bound'];

  constructor(
    name: string,
    { facts, routes }: TableEntry,
    { definitionOf, set }: { readonly definitionOf: DefinitionOf; readonly set: RoutedSet },
  ) {
    this.name = name;
    this.set = set;
    this.state = routes.state;
    this.#own = definitionOf(facts.type);
    this.isDescribed = this.#own === undefined;
    this.#facts = facts;
    this.#bound = { definition: definitionFor(facts, this.#own) };
  }

  get facts(): DeploymentFacts {
    return this.#facts;
  }

  get imageReader(): string | undefined {
    return this.#facts.imageReader;
  }

  get bound(): CallableDeployment['bound'] {
    return this.#bound;
  }

  /** Takes another version of the deployment, whose type is the same. */
  change(facts: DeploymentFacts): void {
    this.#facts = facts;
    this.#bound = { definition: definitionFor(facts, this.#own) };
  }

  requireReplicas(): RoutedSet {
    if (this.refusal) throw this.refusal;
    return this.set;
  }
}

/**
 * The deployments of an application in a host that did not start their replicas: a worker of the application, or a
 * process that is attached to it. It follows the table of the controller, and calls the replicas directly. Queues,
 * turns of users and limits of waiting calls are those of this host. The calls that a replica runs at the same time are
 * those of all.
 */
export class RoutedDeployments {
  readonly #options: RoutedDeploymentsOptions;
  readonly #clock: Clock;
  readonly #connect: ConnectReplica;
  readonly #calls: DeploymentCalls;
  readonly #deployments = new Map<string, RoutedDeployment>();
  readonly #waiting = new Map<string, number>();
  readonly #outcomes = new Map<string, Outcomes>();
  #ending: AanaError | undefined;
  #isReporting = false;
  #isDraining = false;
  /** What this host reports to the controller. It is read once. */
  readonly reports: Coalesced<HostReport> = new Coalesced(() => this.#report());

  constructor(options: RoutedDeploymentsOptions) {
    const { log, membership, simulated, telemetry } = options;
    this.#options = options;
    this.#connect = simulated?.connect ?? (membership ? remoteConnector(membership) : connectReplica);
    this.#clock = simulated?.clock ?? backgroundClock; // whoever waits for a call holds the process
    this.#calls = new DeploymentCalls({
      ...{ log, telemetry, clock: this.#clock, random: simulated?.random ?? Math.random },
      find: (name) => this.#require(name),
    });
  }

  /** Takes a change of the table. The first one has all deployments. */
  take({ removed, changed, draining = this.#isDraining }: TableChange): void {
    this.#isDraining = draining;
    for (const name of removed) this.#remove(name);
    for (const { name, facts, routes } of changed) {
      const known = this.#deployments.get(name);
      if (facts && known && known.facts.type !== facts.type) this.#remove(name); // another deployment has the name now
      const deployment = this.#deployments.get(name) ?? (facts && this.#add(name, facts, routes));
      if (!deployment) continue;
      if (facts) deployment.change(facts);
      const shared = this.#sharedOf(name, routes);
      deployment.state = routes.state;
      deployment.refusal = shared.refusal;
      deployment.set.update(shared);
    }
  }

  /** Ends all connections. Running and waiting calls, and all later ones, fail with `error`. May be called twice. */
  close(error: AanaError): void {
    if (this.#ending) return;
    this.#ending = error;
    this.reports.end();
    for (const { set } of this.#deployments.values()) set.close(() => error);
  }

  /** Returns a handle. Each of its calls goes to the deployment that has the name at that time. */
  handle(name: string, methods: DescribedHandle['methods'], retry: HandleOptionsInput = {}): DescribedHandle {
    const policy = check(HandleOptions, retry, `handle of deployment ${name}`);
    return withMethods(this.#taken(this.#calls.handle(name, policy)), methods, () => methods);
  }

  /** Reserves room for a call that follows; see `HostDeployments.reserve`. */
  reserve(name: string, context: RequestContext): Reservation {
    return this.#calls.reserve(name, context);
  }

  /** Returns how each deployment of the table is. */
  states(): Map<string, DeploymentRoutes['state']> {
    return new Map([...this.#deployments].map(([name, { state }]) => [name, state]));
  }

  /** Whether the table has a deployment of this name. */
  has(name: string): boolean {
    return this.#deployments.has(name);
  }

  /** Returns a handle whose calls are refused while the application drains, unless this is a worker. */
  #taken(handle: DeploymentHandle): DeploymentHandle {
    if (this.#options.isWorker) return handle;
    return {
      name: handle.name,
      call: (...given) => (this.#isDraining ? Promise.reject(draining()) : handle.call(...given)),
      stream: (...given) => (this.#isDraining ? refusedStream() : handle.stream(...given)),
    };
  }

  #add(name: string, facts: DeploymentFacts, routes: DeploymentRoutes): RoutedDeployment {
    const { log, telemetry, weightOf, definitionOf, artifactRoots, simulated } = this.#options;
    const set = new RoutedSet({
      ...{ deployment: name, shared: this.#sharedOf(name, routes), log, telemetry, weightOf, artifactRoots },
      clock: this.#clock,
      random: simulated?.random ?? Math.random,
      connect: this.#connect,
      served: servedCalls(
        (callee) => this.#deployments.get(name)?.facts.callees.includes(callee) === true,
        (callee, policy) => this.#calls.handle(callee, policy),
      ),
      onQueue: () => this.reports.touch(),
      record: (token, error) => this.#record(name, token, error),
    });
    const deployment = new RoutedDeployment(name, { facts, routes }, { definitionOf, set });
    this.#deployments.set(name, deployment);
    return deployment;
  }

  #sharedOf(name: string, { refusal, unavailable, refused, ...others }: DeploymentRoutes): SharedSet {
    const isFar = this.#options.membership !== undefined;
    const replicas = others.replicas.filter(({ address }) => !isFar || address.tcp);
    const isUnheard = others.replicas.length > 0 && replicas.length === 0;
    return {
      ...others,
      replicas,
      refusal: receivedOrNone(refusal),
      unavailable: isUnheard ? notListening(name) : receivedOrNone(unavailable),
      refused: { count: refused.count, error: receivedOrNone(refused.error) },
    };
  }

  #remove(name: string): void {
    this.#deployments.get(name)?.set.close(() => deploymentNotFound(name, this.#deployments.keys()));
    this.#deployments.delete(name);
  }

  /** Keeps what says something about the health of a replica. */
  #record(deployment: string, token: string, error: unknown): void {
    if (error !== undefined && faultOf(error) !== 'deployment') return;
    const outcomes = this.#outcomes.get(token) ?? { deployment, succeeded: 0, errors: [] };
    this.#outcomes.set(token, outcomes);
    if (error === undefined) outcomes.succeeded = Math.min(MAX_SUCCEEDED, outcomes.succeeded + 1);
    else if (outcomes.errors.length < MAX_ERRORS) outcomes.errors.push(sentError(error));
    void this.#reportLater();
  }

  /** Reports outcomes together, because a report costs the controller about as much as a call. */
  async #reportLater(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    await this.#clock.delay(OUTCOMES_MS);
    this.#isReporting = false;
    this.reports.touch();
  }

  #report(): HostReport | undefined {
    const waiting: HostReport['waiting'] = [];
    for (const [deployment, { set }] of this.#deployments) {
      const count = set.waiting;
      if (count === (this.#waiting.get(deployment) ?? 0)) continue;
      this.#waiting.set(deployment, count);
      waiting.push({ deployment, count });
    }
    const outcomes = [...this.#outcomes].map(([replica, counts]) => ({ replica, ...counts }));
    this.#outcomes.clear();
    return waiting.length === 0 && outcomes.length === 0 ? undefined : { waiting, outcomes };
  }

  #require(name: string): RoutedDeployment {
    if (this.#ending) throw this.#ending;
    const deployment = this.#deployments.get(name);
    if (deployment) return deployment;
    throw deploymentNotFound(name, this.#deployments.keys());
  }
}

const draining = (): AanaError => fail('HostDraining', 'the application takes no new calls, because it will stop');

const refusedStream = (): AsyncIterable<never, never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(draining()) }),
});

const receivedOrNone = (sent: SentError | undefined): AanaError | undefined => sent && receivedError(sent);
