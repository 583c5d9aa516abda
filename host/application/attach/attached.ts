import { connect, type AttachOptions, type RunningApplication } from '../../apis/control/client/index.ts';
import type { Config } from '../../base/config/index.ts';
import { matchingServers } from '../../apis/control/index.ts';
import {
  type AnyDeployment,
  deploymentNotFound,
  type HandleOf,
  type HandleOptionsInput,
} from '../../inference/deployments/index.ts';
import { type DeploymentMethods, socketPath } from '../../apis/http/index.ts';

/** The application in another process that an `AanaApp` is attached to. */
export class Attached {
  readonly running: RunningApplication;
  readonly #deployments: ReadonlyMap<string, DeploymentMethods>;

  private constructor(running: RunningApplication, deployments: readonly DeploymentMethods[]) {
    this.running = running;
    this.#deployments = new Map(deployments.map((deployment) => [deployment.name, deployment]));
  }

  /**
   * Attaches to this user's running application. Without `host` and `port` one must be running; otherwise throws
   * `NotRunning`. With them, returns undefined when no application of this user listens there.
   */
  static async open(config: Config, { host, port, show_logs }: AttachOptions): Promise<Attached | undefined> {
    const runtime_dir = config.runtime_dir;
    const at =
      host === undefined && port === undefined
        ? {}
        : host !== undefined && socketPath(host) !== undefined
          ? { host }
          : { host: host ?? config.host, port: port ?? config.port };
    if (at.host !== undefined && (at.port === 0 || (await matchingServers(runtime_dir, at)).length === 0))
      return undefined;
    const running = await connect({ ...at, show_logs, runtime_dir });
    return new Attached(running, await running.deployments());
  }

  /** Returns a handle. Throws `DeploymentNotFound`, which names the deployments at the time of attaching. */
  handle(name: string, options?: HandleOptionsInput): HandleOf<AnyDeployment> {
    return this.running.handleOf(this.#find(name), options);
  }

  /** Returns the name of the deployment's class. */
  typeOf(name: string): string {
    return this.#find(name).type;
  }

  #find(name: string): DeploymentMethods {
    const deployment = this.#deployments.get(name);
    if (deployment) return deployment;
    throw deploymentNotFound(name, this.#deployments.keys());
  }
}
