import { type Address, ControlConnection, followDeployments } from '../../apis/control/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { RequestContext } from '../../base/core/request-context.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import {
  type BoundDeployment,
  boundFrom,
  builtinDefinitions,
  type DeploymentDefinition,
  deploymentNotFound,
  type DeploymentOptionsInput,
  type DescribedHandle,
  describeMethods,
  type HandleOptionsInput,
  type HostDeployments,
  type Readiness,
  readinessOf,
  RoutedDeployments,
} from '../../inference/deployments/index.ts';
import type { Reservation } from '../../inference/replicas/index.ts';
import { fail } from '../../base/core/errors.ts';

export interface WorkerDeploymentsOptions {
  readonly control: Address;
  /** Called when the connection to the controller is lost, after which nothing can be called. */
  readonly onLost: () => void;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  /** Further types of deployments besides the built-in ones. */
  readonly definitions: readonly DeploymentDefinition[] | undefined;
  readonly weightOf: (userId: string) => number | undefined;
  /** Folders of the artifacts of this process. */
  readonly artifactRoots: readonly string[];
}

/**
 * The deployments in a worker. The controller keeps their replicas running, and this process calls them directly. It
 * has the classes and options of those that its own copy of the application has registered, as the controller has.
 */
export class WorkerDeployments implements HostDeployments {
  readonly #options: WorkerDeploymentsOptions;
  readonly #definitions: Map<string, DeploymentDefinition>;
  readonly #bound = new Map<string, BoundDeployment>();
  readonly #listeners = new Set<() => void>();
  readonly #routed: RoutedDeployments;
  #connection: ControlConnection | undefined;
  #names = '';
  #isOver = false;

  constructor(options: WorkerDeploymentsOptions) {
    const { log, telemetry, weightOf, artifactRoots, definitions = [] } = options;
    this.#options = options;
    this.#definitions = new Map([...builtinDefinitions, ...definitions].map((one) => [one.name, one]));
    this.#routed = new RoutedDeployments({
      ...{ log, telemetry, weightOf, artifactRoots },
      definitionOf: (type) => this.#definitions.get(type),
      isWorker: true,
    });
  }

  /** Follows the controller from now on. Resolves when the deployments can be called. */
  async start(): Promise<void> {
    const { control, onLost } = this.#options;
    this.#connection = await ControlConnection.open(control);
    void this.#connection.closed.then(() => this.#isOver || onLost());
    await followDeployments(this.#connection, this.#routed, () => this.#namesMayHaveChanged());
  }

  register(name: string, given: BoundDeployment | DeploymentOptionsInput): BoundDeployment {
    const what = `deployment ${name}`;
    if (this.#bound.has(name)) throw fail('DeploymentExists', `${what} is already registered`);
    const bound = 'definition' in given ? given : boundFrom(given, this.#definitions, what);
    this.#take(name, bound);
    return bound;
  }

  unregister(name: string): void {
    this.#bound.delete(name);
  }

  /** Takes the options with which the controller has started or changed a deployment. */
  configure(name: string, bound: BoundDeployment): void {
    this.#take(name, bound);
  }

  has(name: string): boolean {
    return this.#connection ? this.#routed.has(name) : this.#bound.has(name);
  }

  onNames(listener: () => void): void {
    this.#listeners.add(listener);
  }

  registered(): Map<string, BoundDeployment> {
    return new Map([...this.#bound].filter(([name]) => this.has(name)));
  }

  handle(name: string, retry: HandleOptionsInput = {}): DescribedHandle {
    const bound = this.#bound.get(name);
    if (!bound || !this.has(name)) throw deploymentNotFound(name, this.registered().keys());
    return this.#routed.handle(name, describeMethods(bound.definition.methods), retry);
  }

  reserve(name: string, context: RequestContext): Reservation {
    return this.#routed.reserve(name, context);
  }

  readiness(name?: string): Readiness {
    const states = this.#routed.states();
    if (name === undefined) return readinessOf(states, true);
    const state = states.get(name);
    if (!state) throw deploymentNotFound(name, states.keys());
    return readinessOf(new Map([[name, state]]), false);
  }

  hearing(): ReadonlySet<string> {
    return new Set([...this.#routed.states()].filter(([, { hears }]) => hears).map(([name]) => name));
  }

  status(): ReturnType<HostDeployments['status']> {
    return Object.fromEntries(this.#routed.states());
  }

  async shutdown(): Promise<void> {
    this.#isOver = true;
    this.#routed.close(fail('DeploymentStopped', 'the deployments are shutting down'));
    await this.#connection?.close();
  }

  #take(name: string, bound: BoundDeployment): void {
    this.#definitions.set(bound.definition.name, bound.definition);
    this.#bound.set(name, bound);
  }

  #namesMayHaveChanged(): void {
    const names = [...this.#routed.states().keys()].join(' ');
    if (names === this.#names) return;
    this.#names = names;
    for (const listener of this.#listeners) listener();
  }
}
